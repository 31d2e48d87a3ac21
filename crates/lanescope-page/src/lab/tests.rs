//! Questions that a page asks, answered on this machine.
