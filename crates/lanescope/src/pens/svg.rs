//! stub
use crate::plan::Plan; use crate::result::{LinkReport, Report};
/// t
pub fn topology(_: &Plan, _: &Report) -> String { String::new() }
/// w
pub fn waterfall(_: &LinkReport) -> String { String::new() }
