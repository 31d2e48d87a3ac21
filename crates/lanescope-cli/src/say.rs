//! Lines on standard error, which whoever has closed it does not want to hear.

/// Says a line on standard error. Whoever has closed it wants to hear nothing, and the answer goes on.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), $($text)*);
    }};
}
pub(crate) use say;
