//! The grammar: from tokens to statements, by recursive descent. After a mistake reading goes on with the next
//! statement.

use super::lex::{Token, What};
use super::value::{self, Code, Expr, Unit, Value};
use super::{Block, Problem, Result, Statement, Tag, Verb, Written, problem};
use crate::diagnostic::nearest;
use crate::mpi::op::{Algorithm, Kind};
use std::collections::HashMap;
use std::ops::Range;

/// Nobody reads more mistakes at once.
pub(super) const MOST_ERRORS: usize = 20;
/// No block or parenthesis stands deeper.
const MOST_NESTING: u32 = 64;
/// Words that begin a statement.
const VERBS: [&str; 23] = [
    "compute",
    "work",
    "send",
    "recv",
    "isend",
    "irecv",
    "sendrecv",
    "wait",
    "waitall",
    "barrier",
    "bcast",
    "reduce",
    "allreduce",
    "reduce_scatter",
    "gather",
    "scatter",
    "allgather",
    "alltoall",
    "alltoallv",
    "repeat",
    "timed",
    "if",
    "else",
];

/// Words that follow a number without being its unit.
const WORDS: [&str; 10] = ["to", "from", "tag", "any", "as", "root", "moves", "and", "or", "not"];

fn is_word(word: &str) -> bool {
    WORDS.contains(&word) || Algorithm::ALL.iter().any(|a| a.name() == word)
}

pub(super) struct Parser<'t> {
    text: &'t str,
    tokens: &'t [Token],
    next: usize,
    depth: u32,
    /// Loop variables in sight, and whether they were used.
    variables: Vec<(&'t str, bool)>,
    /// Requests by name; in the order of their first appearance.
    requests: HashMap<&'t str, u32>,
    pub(super) names: Vec<String>,
    begun: Vec<bool>,
    waited: Vec<(u32, Range<usize>)>,
    pub(super) sections: Vec<Written>,
    pub(super) problems: Vec<Problem>,
    /// Nothing more is read.
    given_up: bool,
}

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t str, tokens: &'t [Token]) -> Parser<'t> {
        Parser {
            text,
            tokens,
            next: 0,
            depth: 0,
            variables: Vec::new(),
            requests: HashMap::new(),
            names: Vec::new(),
            begun: Vec::new(),
            waited: Vec::new(),
            sections: Vec::new(),
            problems: Vec::new(),
            given_up: false,
        }
    }

    pub(super) fn program(&mut self) -> Option<Block> {
        let body = match self.block(false) {
            Ok(body) => body,
            Err(p) => {
                self.problems.push(p);
                Vec::new()
            }
        };
        for (request, at) in std::mem::take(&mut self.waited) {
            if !self.begun[request as usize] {
                let name = &self.names[request as usize];
                let hint = "a request gets its name where it begins: isend 8 B to 1 as a";
                self.problems.push(Problem {
                    at,
                    message: format!("no isend or irecv is called {name}"),
                    hint: hint.into(),
                });
            }
        }
        self.problems.is_empty().then_some(body)
    }

    fn token(&self) -> &'t Token {
        &self.tokens[self.next]
    }

    fn word(&self) -> &'t str {
        let token = self.token();
        if token.what == What::Word { &self.text[token.at.clone()] } else { "" }
    }

    fn advance(&mut self) -> &'t Token {
        let token = self.token();
        if token.what != What::Eof {
            self.next += 1;
        }
        token
    }

    /// Takes a word or sign if it is next.
    fn takes(&mut self, text: &str) -> bool {
        let token = self.token();
        let is = match token.what {
            What::Word => &self.text[token.at.clone()] == text,
            What::Sign(sign) => sign == text,
            _ => false,
        };
        if is {
            self.next += 1;
        }
        is
    }

    /// What the next token is, for a message.
    fn found(&self) -> String {
        let token = self.token();
        match token.what {
            What::Eof => "the end of the program".into(),
            What::End => "the end of the line".into(),
            _ => format!("{:?}", self.text[token.at.clone()].chars().take(20).collect::<String>()),
        }
    }

    fn expect(&mut self, text: &str, hint: &str) -> Result<()> {
        if self.takes(text) {
            return Ok(());
        }
        problem(&self.token().at, format!("expected {text:?}, found {}", self.found()), hint)
    }

    fn deeper(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > MOST_NESTING {
            return problem(&self.token().at, format!("nested deeper than {MOST_NESTING}"), "");
        }
        Ok(())
    }

    /// Statements up to the closing brace, or to the end of the program.
    fn block(&mut self, inner: bool) -> Result<Block> {
        let mut body = Vec::new();
        let (depth, variables) = (self.depth, self.variables.len());
        loop {
            match self.token().what {
                What::Eof if self.given_up => return Ok(body),
                What::End => {
                    self.next += 1;
                }
                What::Eof if inner => {
                    return problem(&self.token().at, "a block is not closed", "add a } where it ends");
                }
                What::Eof => return Ok(body),
                What::Sign("}") if inner => {
                    self.next += 1;
                    return Ok(body);
                }
                _ => match self.statement() {
                    Ok(statement) => body.push(statement),
                    Err(p) => {
                        self.problems.push(p);
                        self.given_up |= self.depth > MOST_NESTING || self.problems.len() >= MOST_ERRORS;
                        self.depth = depth;
                        self.variables.truncate(variables);
                        if self.given_up {
                            self.next = self.tokens.len() - 1;
                            return Ok(body);
                        }
                        self.skip();
                    }
                },
            }
        }
    }

    /// After a mistake: to the end of the statement, blocks in it included.
    fn skip(&mut self) {
        let mut open = 0u32;
        loop {
            match self.token().what {
                What::Eof => return,
                What::End if open == 0 => return,
                What::Sign("{") => open += 1,
                What::Sign("}") if open == 0 => return,
                What::Sign("}") => open -= 1,
                _ => {}
            }
            self.next += 1;
        }
    }

    /// A block in braces.
    fn braces(&mut self) -> Result<Block> {
        self.deeper()?;
        self.expect("{", "its body is in braces: { … }")?;
        let body = self.block(true)?;
        self.depth -= 1;
        Ok(body)
    }

    fn statement(&mut self) -> Result<Statement> {
        let start = self.token().at.start;
        let what = self.verb()?;
        let end = self.tokens[self.next - 1].at.end;
        match self.token().what {
            What::End | What::Eof | What::Sign("}") => Ok(Statement { at: start..end, what }),
            _ if matches!(what, Verb::If { .. } | Verb::Repeat { .. } | Verb::Timed { .. }) => {
                Ok(Statement { at: start..end, what })
            }
            _ => problem(
                &self.token().at,
                format!("{} does not belong to this statement", self.found()),
                "statements end with the line or with ;",
            ),
        }
    }

    fn verb(&mut self) -> Result<Verb> {
        let verb = self.word();
        let at = self.advance().at.clone();
        Ok(match verb {
            "compute" => Verb::Compute(self.expr()?),
            "work" => Verb::Work(self.expr()?),
            "send" | "isend" => {
                let size = self.expr()?;
                self.expect("to", "for example send 8 KiB to 1")?;
                let to = self.expr()?;
                let tag = if self.takes("tag") { Some(self.expr()?) } else { None };
                Verb::Send { size, to, tag, request: self.request(verb == "isend")? }
            }
            "recv" | "irecv" => {
                let size = if self.word() == "from" { None } else { Some(self.expr()?) };
                self.expect("from", "for example recv 8 KiB from any")?;
                let from = if self.takes("any") { None } else { Some(self.expr()?) };
                let tag = match self.takes("tag") {
                    false => Tag::Zero,
                    true if self.takes("any") => Tag::Any,
                    true => Tag::Is(self.expr()?),
                };
                Verb::Recv { size, from, tag, request: self.request(verb == "irecv")? }
            }
            "sendrecv" => {
                let size = self.expr()?;
                self.expect("to", "for example sendrecv 1 MiB to 1 from 1")?;
                let to = self.expr()?;
                self.expect("from", "for example sendrecv 1 MiB to 1 from 1")?;
                let from = self.expr()?;
                let tag = if self.takes("tag") { Some(self.expr()?) } else { None };
                Verb::Sendrecv { size, to, from, tag }
            }
            "wait" => {
                let mut list = Vec::new();
                while self.token().what == What::Word {
                    let at = self.token().at.clone();
                    let name = self.word();
                    self.next += 1;
                    let request = self.named(name);
                    self.waited.push((request, at.clone()));
                    list.push((request, at));
                }
                if list.is_empty() {
                    return problem(&at, "wait for what?", "name requests, or write waitall");
                }
                Verb::Wait(list)
            }
            "waitall" => Verb::WaitAll,
            "repeat" => {
                let times = self.expr()?;
                let mut variable = None;
                if self.takes("as") {
                    let name = self.fresh("a loop's variable")?;
                    variable = Some(self.variables.len());
                    self.variables.push((name, false));
                }
                let body = self.braces()?;
                let used = variable.is_some() && self.variables.pop().is_some_and(|v| v.1);
                Verb::Repeat { times, variable: variable.filter(|_| used), body }
            }
            "timed" => {
                let token = self.token();
                let What::Text = token.what else {
                    let hint = "for example timed \"exchange\" 1000 { … }";
                    return problem(&token.at, format!("expected a name in quotes, found {}", self.found()), hint);
                };
                let name = self.text[token.at.start + 1..token.at.end - 1].to_owned();
                self.next += 1;
                let times = self.expr()?;
                let moves = if self.takes("moves") { Some(self.expr()?) } else { None };
                let section = self.sections.len();
                self.sections.push(Written { name, moves });
                Verb::Timed { section, times, body: self.braces()? }
            }
            "if" => {
                let mut arms = vec![(self.expr()?, self.braces()?)];
                loop {
                    // An else may stand on the next line.
                    let before = self.next;
                    while self.token().what == What::End {
                        self.next += 1;
                    }
                    if !self.takes("else") {
                        self.next = before;
                        return Ok(Verb::If { arms, otherwise: Vec::new() });
                    }
                    if !self.takes("if") {
                        return Ok(Verb::If { arms, otherwise: self.braces()? });
                    }
                    arms.push((self.expr()?, self.braces()?));
                }
            }
            _ => {
                let Some(kind) = Kind::ALL.into_iter().find(|k| k.name() == verb) else {
                    return self.unknown(verb, &at);
                };
                return self.collective(kind, &at);
            }
        })
    }

    fn unknown<T>(&self, verb: &str, at: &Range<usize>) -> Result<T> {
        let shown: String = self.text[at.clone()].chars().take(20).collect();
        if verb == "else" {
            return problem(at, "else without if", "");
        }
        if verb.is_empty() {
            return problem(
                at,
                format!("{shown:?} begins no statement"),
                format!("statements are {}", VERBS.join(", ")),
            );
        }
        let hint = match nearest(verb, VERBS) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("statements are {}", VERBS.join(", ")),
        };
        problem(at, format!("there is no statement {shown:?}"), hint)
    }

    fn collective(&mut self, kind: Kind, at: &Range<usize>) -> Result<Verb> {
        let mut size = None;
        if kind != Kind::Barrier {
            if matches!(self.token().what, What::End | What::Eof) {
                return problem(
                    at,
                    format!("{} of how much?", kind.name()),
                    format!("for example {} 1 MiB", kind.name()),
                );
            }
            let to = kind == Kind::Alltoallv;
            if to {
                self.variables.push(("to", true));
            }
            let read = self.expr();
            if to {
                self.variables.pop();
            }
            size = Some(read?);
        }
        let (mut root, mut algorithm) = (None, None);
        loop {
            let at = self.token().at.clone();
            let word = self.word();
            if word == "root" {
                if !kind.has_root() {
                    return problem(&at, format!("{} has no root", kind.name()), "");
                }
                self.next += 1;
                root = Some(self.expr()?);
            } else if let Some(named) = Algorithm::named(word) {
                if !kind.choices().contains(&named) {
                    let hint = Algorithm::one_of(kind.choices()).unwrap_or_default();
                    return problem(&at, format!("{} is not done by {word}", kind.name()), hint);
                }
                self.next += 1;
                algorithm = Some(named);
            } else {
                let to = self.variables.len();
                return Ok(Verb::Collective { kind, size, root, algorithm, to });
            }
        }
    }

    /// `as NAME` of an isend or irecv.
    fn request(&mut self, begun: bool) -> Result<Option<Option<u32>>> {
        let at = self.token().at.clone();
        if !self.takes("as") {
            return Ok(begun.then_some(None));
        }
        if !begun {
            return problem(
                &at,
                "a blocking send or receive has no name",
                "write isend or irecv, and wait for it later",
            );
        }
        let name = self.fresh("a request")?;
        let request = self.named(name);
        self.begun[request as usize] = true;
        Ok(Some(Some(request)))
    }

    fn named(&mut self, name: &'t str) -> u32 {
        let next = self.names.len() as u32;
        let request = *self.requests.entry(name).or_insert(next);
        if request == next {
            self.names.push(name.to_owned());
            self.begun.push(false);
        }
        request
    }

    /// A name that is no word of the language.
    fn fresh(&mut self, of: &str) -> Result<&'t str> {
        let token = self.token();
        let name = self.word();
        if name.is_empty() {
            return problem(&token.at, format!("expected the name of {of}, found {}", self.found()), "");
        }
        if is_word(name) || VERBS.contains(&name) || ["rank", "ranks"].contains(&name) {
            return problem(
                &token.at,
                format!("{name} already has another meaning"),
                format!("give {of} another name"),
            );
        }
        self.next += 1;
        Ok(name)
    }

    fn expr(&mut self) -> Result<Expr> {
        let start = self.token().at.start;
        let mut code = Vec::new();
        self.level(0, &mut code)?;
        Ok(Expr { code, at: start..self.tokens[self.next - 1].at.end })
    }

    /// Operators of one precedence and all that bind tighter, by Pratt's method; what is worked out goes to `code`
    /// behind its operands.
    fn level(&mut self, least: u8, code: &mut Vec<(Code, Range<usize>)>) -> Result<()> {
        self.deeper()?;
        let at = self.token().at.clone();
        if self.takes("not") {
            self.level(value::NOT, code)?;
            code.push((Code::Not, at));
        } else if self.takes("-") {
            self.level(value::TIGHTEST, code)?;
            code.push((Code::Negative, at));
        } else {
            self.primary(code)?;
        }
        let mut compared = false;
        loop {
            let token = self.token();
            let sign = match token.what {
                What::Word => self.word(),
                What::Sign(sign) => sign,
                _ => break,
            };
            let Some((operator, binds)) = value::operator(sign) else { break };
            if binds < least {
                break;
            }
            if binds == value::COMPARISON && std::mem::replace(&mut compared, true) {
                return problem(&token.at, "comparisons do not chain", "write a < b and b < c");
            }
            self.next += 1;
            self.level(binds + 1, code)?;
            code.push((Code::Two(operator), token.at.clone()));
        }
        self.depth -= 1;
        Ok(())
    }

    fn primary(&mut self, code: &mut Vec<(Code, Range<usize>)>) -> Result<()> {
        let token = self.token();
        let at = token.at.clone();
        match token.what {
            What::Number => {
                self.next += 1;
                let unit = self.word();
                let value = if unit.is_empty() || is_word(unit) {
                    Value { number: value::number(&self.text[at.clone()], &at)?, unit: Unit::None }
                } else {
                    let whole = at.start..self.token().at.end;
                    self.next += 1;
                    value::quantity(&self.text[at.clone()], unit, &whole)?
                };
                code.push((Code::Value(value), at));
                Ok(())
            }
            What::Sign("(") => {
                self.next += 1;
                self.level(0, code)?;
                self.expect(")", "")
            }
            What::Word => {
                let word = self.word();
                let what = match word {
                    "rank" => Code::Rank,
                    "ranks" => Code::Ranks,
                    _ => match self.variables.iter().rposition(|v| v.0 == word) {
                        Some(slot) => {
                            self.variables[slot].1 = true;
                            Code::Variable(slot)
                        }
                        None => {
                            let known = self.variables.iter().map(|v| v.0).chain(["rank", "ranks"]);
                            let known: Vec<_> = known.collect();
                            let shown: String = word.chars().take(20).collect();
                            let hint = match word {
                                "any" => "any is allowed only after from and tag of a receive".into(),
                                _ => format!("known here: {}", known.join(", ")),
                            };
                            return problem(&at, format!("{shown:?} is not a number"), hint);
                        }
                    },
                };
                self.next += 1;
                code.push((what, at));
                Ok(())
            }
            _ => problem(&at, format!("expected a number, found {}", self.found()), ""),
        }
    }
}
