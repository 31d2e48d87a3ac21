//! What the simulation takes no account of.

use crate::plan::Plan;
use crate::result::{Gap, NotModelled, not_modelled};

/// One line for each key; a test walks the whole language and asks for what is missing here.
pub static NOT_MODELLED: &[Gap] = &[];

/// Of what the scenario of a plan states.
pub(super) fn of(plan: &Plan) -> Vec<NotModelled> {
    not_modelled(plan, "simulate", NOT_MODELLED)
}
