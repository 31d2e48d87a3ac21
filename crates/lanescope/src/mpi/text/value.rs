//! Numbers, sizes and times, and how they are worked out.
//!
//! Expressions are kept in reverse Polish order, so neither working one out nor letting it go is recursive, however
//! long it is.

use super::{Result, problem};
use crate::units::{Bytes, Time, UnitError};
use std::ops::Range;

/// What a value is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// A plain number.
    None,
    Bytes,
    /// Femtoseconds.
    Time,
}

/// A whole number of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) number: i128,
    pub(super) unit: Unit,
}

/// An expression.
pub(super) struct Expr {
    pub(super) code: Vec<(Code, Range<usize>)>,
    pub(super) at: Range<usize>,
}

/// One piece of it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Code {
    Value(Value),
    Rank,
    Ranks,
    /// A loop's variable, by its slot.
    Variable(usize),
    Two(Two),
    Negative,
    Not,
}

/// An operator with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Two {
    Or,
    And,
    Equal,
    Unequal,
    Less,
    LessEqual,
    More,
    MoreEqual,
    Xor,
    Left,
    Right,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// How tightly `not` binds.
pub(super) const NOT: u8 = 3;
/// How tightly comparisons bind.
pub(super) const COMPARISON: u8 = 4;
/// Tighter than any operator.
pub(super) const TIGHTEST: u8 = 9;

/// The operator of a sign or word, and how tightly it binds.
pub(super) fn operator(sign: &str) -> Option<(Two, u8)> {
    Some(match sign {
        "or" => (Two::Or, 1),
        "and" => (Two::And, 2),
        "==" => (Two::Equal, COMPARISON),
        "!=" => (Two::Unequal, COMPARISON),
        "<" => (Two::Less, COMPARISON),
        "<=" => (Two::LessEqual, COMPARISON),
        ">" => (Two::More, COMPARISON),
        ">=" => (Two::MoreEqual, COMPARISON),
        "^" => (Two::Xor, 5),
        "<<" => (Two::Left, 6),
        ">>" => (Two::Right, 6),
        "+" => (Two::Add, 7),
        "-" => (Two::Subtract, 7),
        "*" => (Two::Multiply, 8),
        "/" => (Two::Divide, 8),
        "%" => (Two::Remainder, 8),
        _ => return None,
    })
}

/// No number is larger: what is worked out stays far inside 128 bits.
const MOST: i128 = 1_000_000_000_000_000_000_000_000;

/// A plain number: whole, perhaps with an exponent.
pub(super) fn number(text: &str, at: &Range<usize>) -> Result<i128> {
    let plain: String = text.chars().filter(|c| *c != '_').collect();
    let (digits, exponent) = plain.split_once(['e', 'E']).unwrap_or((&plain, "0"));
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let part = part.trim_end_matches('0');
    let exponent: usize = exponent.parse().unwrap_or(usize::MAX);
    if part.len() > exponent {
        return problem(at, format!("{} is not a whole number", shown(text)), "");
    }
    if exponent > 24 || whole.len() > 40 {
        return too_large(at, text);
    }
    let mut all = format!("{whole}{part}");
    all.extend(std::iter::repeat_n('0', exponent - part.len()));
    match all.parse() {
        Ok(n) if n <= MOST => Ok(n),
        _ => too_large(at, text),
    }
}

fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}

fn too_large<T>(at: &Range<usize>, text: &str) -> Result<T> {
    problem(at, format!("{} is too large a number", shown(text)), "at most 1e24")
}

/// A number with its unit.
pub(super) fn quantity(written: &str, unit: &str, at: &Range<usize>) -> Result<Value> {
    let text = match written.contains(['e', 'E']) {
        true => format!("{} {unit}", number(written, at)?),
        false => format!("{written} {unit}"),
    };
    let unit: String = unit.chars().take(20).collect();
    let read = match Bytes::parse(&text) {
        Err(UnitError::WrongUnit(_)) => match Time::parse(&text) {
            Ok(time) => return Ok(Value { number: time.fs().into(), unit: Unit::Time }),
            Err(e) => Err(e),
        },
        read => read,
    };
    match read {
        Ok(bytes) => Ok(Value { number: bytes.0.into(), unit: Unit::Bytes }),
        Err(UnitError::WrongUnit(_)) => {
            let hint = match unit.as_str() {
                "KB" => "KB is ambiguous: write kB (1000) or KiB (1024)".into(),
                _ => format!("sizes are in {}, times in {}", Bytes::UNITS, Time::UNITS),
            };
            problem(at, format!("there is no unit {unit:?}"), hint)
        }
        Err(UnitError::TooLarge(most)) => problem(at, format!("{} is too large: at most {most}", shown(&text)), ""),
        Err(UnitError::TooSmall(step)) => {
            problem(at, format!("{} is too fine: it is counted in steps of {step}", shown(&text)), "")
        }
        Err(_) => problem(at, format!("{:?} is not a valid quantity", shown(&text)), "for example 8 KiB or 5 us"),
    }
}

/// What names stand for while an expression is worked out.
pub(super) struct Scope<'a> {
    pub(super) rank: u32,
    pub(super) ranks: u32,
    pub(super) variables: &'a [i128],
    /// Set when anything depends on the rank.
    pub(super) used_rank: &'a mut bool,
}

impl Expr {
    /// Works it out. `stack` is a scratch pad.
    pub(super) fn value(&self, scope: &mut Scope, stack: &mut Vec<Value>) -> Result<Value> {
        stack.clear();
        let plain = |number| Value { number, unit: Unit::None };
        for (code, at) in &self.code {
            let value = match *code {
                Code::Value(value) => value,
                Code::Rank => {
                    *scope.used_rank = true;
                    plain(scope.rank.into())
                }
                Code::Ranks => plain(scope.ranks.into()),
                Code::Variable(slot) => plain(scope.variables.get(slot).copied().unwrap_or(0)),
                Code::Negative | Code::Not => {
                    let Some(v) = stack.pop() else { continue };
                    match code {
                        Code::Not => plain((v.number == 0).into()),
                        _ => Value { number: -v.number, ..v },
                    }
                }
                Code::Two(two) => {
                    let (Some(b), Some(a)) = (stack.pop(), stack.pop()) else { continue };
                    apply(two, a, b, at)?
                }
            };
            stack.push(value);
        }
        Ok(stack.pop().unwrap_or(plain(0)))
    }
}

fn apply(two: Two, a: Value, b: Value, at: &Range<usize>) -> Result<Value> {
    let (x, y) = (a.number, b.number);
    let plain = |number| Ok(Value { number, unit: Unit::None });
    let alike = || match a.unit == b.unit {
        true => Ok(()),
        false => problem(at, "sizes, times and plain numbers cannot be mixed here", "give both the same kind of unit"),
    };
    let numbers = || match (a.unit, b.unit) {
        (Unit::None, Unit::None) => Ok(()),
        _ => problem(at, "this takes plain numbers only", ""),
    };
    let within = |number: Option<i128>, unit| match number {
        Some(number) if number.abs() <= MOST => Ok(Value { number, unit }),
        _ => problem(at, "the result is too large", "no number is above 1e24"),
    };
    let nonzero = || match y {
        0 => problem(at, "division by zero", ""),
        _ => Ok(()),
    };
    match two {
        Two::Or | Two::And => {
            numbers()?;
            plain(if two == Two::Or { x != 0 || y != 0 } else { x != 0 && y != 0 }.into())
        }
        Two::Equal | Two::Unequal | Two::Less | Two::LessEqual | Two::More | Two::MoreEqual => {
            alike()?;
            plain(match two {
                Two::Equal => x == y,
                Two::Unequal => x != y,
                Two::Less => x < y,
                Two::LessEqual => x <= y,
                Two::More => x > y,
                _ => x >= y,
            } as i128)
        }
        Two::Xor => {
            numbers()?;
            plain(x ^ y)
        }
        Two::Left | Two::Right => {
            numbers()?;
            let Some(by) = u32::try_from(y).ok().filter(|by| *by < 64) else {
                return problem(at, format!("cannot shift by {y}"), "by 0 to 63");
            };
            if two == Two::Left { within(x.checked_mul(1 << by), Unit::None) } else { plain(x >> by) }
        }
        Two::Add | Two::Subtract => {
            alike()?;
            within(if two == Two::Add { x.checked_add(y) } else { x.checked_sub(y) }, a.unit)
        }
        Two::Multiply => {
            let unit = if a.unit == Unit::None { b.unit } else { a.unit };
            if a.unit != Unit::None && b.unit != Unit::None {
                return problem(at, "two units cannot be multiplied here", "");
            }
            within(x.checked_mul(y), unit)
        }
        Two::Divide => {
            nonzero()?;
            let unit = match (a.unit, b.unit) {
                (unit, Unit::None) => unit,
                (one, other) if one == other => Unit::None,
                _ => return alike().map(|()| a),
            };
            plain(x.div_euclid(y)).map(|v| Value { unit, ..v })
        }
        Two::Remainder => {
            nonzero()?;
            if b.unit != Unit::None {
                alike()?;
            }
            Ok(Value { number: x.rem_euclid(y), unit: a.unit })
        }
    }
}
