//! Quantities of a calculator's question, with the same messages for all protocols.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::units::UnitError;

/// A text as a quantity, or a message with the units it could have had.
pub(super) fn read<T>(
    diagnostics: &mut Diagnostics,
    (text, what, units, example): (&str, &str, &str, &str),
    parse: fn(&str) -> Result<T, UnitError>,
) -> Option<T> {
    let why = match parse(text) {
        Ok(value) => return Some(value),
        Err(UnitError::NoUnit) => ": it has no unit".to_owned(),
        Err(UnitError::TooLarge(most)) => format!(": more than {most}"),
        Err(UnitError::TooSmall(least)) => format!(": less than {least}, or a part of it"),
        Err(UnitError::Negative) => ": it is negative".to_owned(),
        Err(_) => String::new(),
    };
    let hint = format!("a number in {units}, e.g. {example:?}");
    diagnostics.push(Diagnostic::error(None, format!("{text:?} is not a valid {what}{why}")).hint(hint));
    None
}
