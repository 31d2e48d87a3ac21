//! Words, numbers and signs of a program.

use super::{Problem, Result, problem};
use std::ops::Range;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// Digits, with a point or an exponent.
    Number,
    Word,
    /// In quotes.
    Text,
    Sign(&'static str),
    /// The end of a line, or a semicolon.
    End,
    /// The end of the program.
    Eof,
}

/// A token and where it stands, in bytes.
#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) what: What,
    pub(super) at: Range<usize>,
}

/// Longer ones first.
const SIGNS: [&str; 20] =
    ["==", "!=", "<=", ">=", "<<", ">>", "&&", "||", "<", ">", "+", "-", "*", "/", "%", "^", "(", ")", "{", "}"];

/// The tokens of a program; the last is [`What::Eof`].
pub(super) fn read(text: &str) -> Result<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let start = at;
        let rest = &text[at..];
        let length = |ends: fn(char) -> bool| rest.find(ends).unwrap_or(rest.len());
        let what = match c {
            '\n' | ';' => {
                at += 1;
                What::End
            }
            c if c.is_whitespace() => {
                at += c.len_utf8();
                continue;
            }
            '#' => {
                at += length(|c| c == '\n');
                continue;
            }
            '"' => {
                let end = rest[1..].find(['"', '\n']).map(|i| i + 1);
                let Some(end) = end.filter(|&e| rest.as_bytes()[e] == b'"') else {
                    return problem(&(start..start + 1), "this text does not end", "add a \" on the same line");
                };
                at += end + 1;
                What::Text
            }
            '0'..='9' => {
                at += number(rest);
                What::Number
            }
            c if c.is_alphabetic() || c == '_' => {
                at += length(|c| !c.is_alphanumeric() && c != '_');
                What::Word
            }
            _ => {
                let Some(sign) = SIGNS.into_iter().find(|s| rest.starts_with(s)) else {
                    let hint = if c == '=' { "equal is ==" } else { "" };
                    let message = format!("{c:?} means nothing here");
                    return Err(Problem { at: start..start + c.len_utf8(), message, hint: hint.into() });
                };
                at += sign.len();
                What::Sign(match sign {
                    "&&" => "and",
                    "||" => "or",
                    sign => sign,
                })
            }
        };
        tokens.push(Token { what, at: start..at });
    }
    tokens.push(Token { what: What::Eof, at: text.len()..text.len() });
    Ok(tokens)
}

/// Bytes of the number that a text begins with: `12`, `1_000`, `2.5`, `2e6`.
fn number(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |mut i: usize| {
        while bytes.get(i).is_some_and(|b| b.is_ascii_digit() || *b == b'_') {
            i += 1;
        }
        i
    };
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+')));
        if bytes.get(end + 1 + sign).is_some_and(u8::is_ascii_digit) {
            end = digits(end + 1 + sign);
        }
    }
    end
}
