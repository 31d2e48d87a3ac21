//! What is changed in a source: each mutant is an alternative beside what stands there, chosen when the program runs.
//!
//! Operators are those of cargo-mutants (another operator in place of each, a constant for what a function gives, an
//! arm of a `match` gone), and `min` for `max`. Tests, constants and what stands in macros are left as they are.

use proc_macro2::LineColumn;
use std::ops::Range;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, Pat, ReturnType, Type};

/// A change of one place.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// The file, below the library's sources.
    pub file: String,
    pub line: usize,
    /// What is done, as a person would say it.
    pub what: String,
    /// The bytes of the source that it stands for; empty where something is put in.
    place: Range<usize>,
    /// What is there in its place.
    replacement: Replacement,
}

#[derive(Clone, Debug)]
enum Replacement {
    /// Another expression.
    Expression(String),
    /// A statement at the beginning of a body.
    Statement(String),
    /// An arm without a guard never matches.
    NoArm,
    /// The same of an arm that has one.
    NoGuard,
}

/// A place, and what may stand there by number.
type Place<'a> = (Range<usize>, Vec<(usize, &'a Replacement)>);

/// All mutants of a source.
pub fn mutants(file: &str, text: &str) -> syn::Result<Vec<Mutant>> {
    let parsed = syn::parse_file(text)?;
    if is_test(&parsed.attrs) {
        return Ok(Vec::new());
    }
    let mut finder = Finder { file, text, found: Vec::new() };
    finder.visit_file(&parsed);
    Ok(finder.found)
}

/// The source with all of some mutants in it, numbered, and the bytes of that text where each is.
pub fn mutated(text: &str, mutants: &[(usize, &Mutant)]) -> (String, Vec<(usize, Range<usize>)>) {
    // What is put in before and behind each place. Outer places begin first and end last; a guard is outside of what it
    // says.
    let kind = |replacement: &Replacement| std::mem::discriminant(replacement);
    let mut places: Vec<Place> = Vec::new();
    for (id, mutant) in mutants {
        let same = |(place, here): &&mut Place| *place == mutant.place && kind(here[0].1) == kind(&mutant.replacement);
        match places.iter_mut().find(|p| same(p)) {
            Some((_, here)) => here.push((*id, &mutant.replacement)),
            None => places.push((mutant.place.clone(), vec![(*id, &mutant.replacement)])),
        }
    }
    let outside = |here: &[(usize, &Replacement)]| !matches!(here[0].1, Replacement::NoGuard);
    places.sort_by_key(|(place, here)| (place.start, std::cmp::Reverse(place.end), outside(here)));
    let mut opening: Vec<(usize, String)> = Vec::new();
    let mut closing: Vec<(usize, &str)> = Vec::new();
    for (place, here) in &places {
        let is = |id: &usize| format!("crate::mutant::is({id})");
        let (before, behind) = match here[0].1 {
            Replacement::Expression(_) => {
                let all = here.iter().map(|(id, replacement)| match replacement {
                    Replacement::Expression(other) => format!("if {} {{ {other} }} else ", is(id)),
                    _ => String::new(),
                });
                (format!("({}{{ ", all.collect::<String>()), " })")
            }
            Replacement::Statement(_) => {
                let all = here.iter().map(|(id, replacement)| match replacement {
                    Replacement::Statement(does) => format!(" if {} {{ {does} }}", is(id)),
                    _ => String::new(),
                });
                (all.collect(), "")
            }
            Replacement::NoArm => (format!(" if !{}", is(&here[0].0)), ""),
            Replacement::NoGuard => (format!("!{} && (", is(&here[0].0)), ")"),
        };
        opening.push((place.start, before));
        closing.push((place.end, behind));
    }
    // Of those that end at one byte the inner ones first: they began last.
    closing.reverse();
    closing.sort_by_key(|(at, _)| *at);
    let (mut out, mut moved) = (String::new(), Vec::new());
    let (mut o, mut c) = (0, 0);
    let mut begins = vec![0; opening.len()];
    for (at, byte) in text.char_indices().map(|(at, c)| (at, Some(c))).chain([(text.len(), None)]) {
        while closing.get(c).is_some_and(|(end, behind)| *end == at && !behind.is_empty()) {
            out.push_str(closing[c].1);
            c += 1;
        }
        while opening.get(o).is_some_and(|(start, _)| *start == at) {
            begins[o] = out.len();
            out.push_str(&opening[o].1);
            o += 1;
        }
        while closing.get(c).is_some_and(|(end, _)| *end == at) {
            out.push_str(closing[c].1);
            c += 1;
        }
        out.extend(byte);
    }
    // An end has moved by all that was put in before it.
    let added_before = |at: usize, or_at: bool| {
        let before = opening.iter().filter(|(start, _)| *start < at || or_at && *start == at).map(|(_, s)| s.len());
        let behind = closing.iter().filter(|(end, _)| *end <= at).map(|(_, s)| s.len());
        at + before.sum::<usize>() + behind.sum::<usize>()
    };
    for (i, (place, here)) in places.iter().enumerate() {
        let end = added_before(place.end, place.is_empty());
        moved.extend(here.iter().map(|(id, _)| (*id, begins[i]..end)));
    }
    (out, moved)
}

struct Finder<'a> {
    file: &'a str,
    text: &'a str,
    found: Vec<Mutant>,
}

impl Finder<'_> {
    fn source(&self, of: &impl Spanned) -> &str {
        &self.text[of.span().byte_range()]
    }

    fn add(&mut self, place: Range<usize>, at: LineColumn, what: String, replacement: Replacement) {
        self.found.push(Mutant { file: self.file.into(), line: at.line, what, place, replacement });
    }

    fn operators(&mut self, e: &syn::ExprBinary, others: &[&str]) {
        let (left, right) = (self.source(&e.left).to_owned(), self.source(&e.right).to_owned());
        let operator = self.source(&e.op).to_owned();
        for other in others {
            let (what, replacement) = (format!("{operator} becomes {other}"), format!("{left} {other} {right}"));
            self.add(e.span().byte_range(), e.op.span().start(), what, Replacement::Expression(replacement));
        }
    }

    fn body(&mut self, signature: &syn::Signature, block: &syn::Block) {
        if signature.constness.is_some() {
            return;
        }
        let start = block.brace_token.span.open().byte_range().end;
        for constant in constants(&signature.output) {
            let what = match constant.as_str() {
                "" => format!("{} does nothing", signature.ident),
                _ => format!("{} gives {constant}", signature.ident),
            };
            let does = Replacement::Statement(format!("return {constant};"));
            self.add(start..start, signature.ident.span().start(), what, does);
        }
    }
}

/// What a function may give whatever it is asked.
fn constants(output: &ReturnType) -> Vec<String> {
    let ReturnType::Type(_, output) = output else { return vec![String::new()] };
    let Type::Path(path) = &**output else { return Vec::new() };
    let name = path.path.segments.last().map(|s| s.ident.to_string()).unwrap_or_default();
    let all: &[&str] = match name.as_str() {
        "bool" => &["true", "false"],
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" | "i32" | "i64" => &["0", "1"],
        "f64" => &["0.0", "1.0"],
        "Option" => &["None"],
        "String" | "Vec" | "VecDeque" | "BTreeMap" => &["Default::default()"],
        _ => &[],
    };
    all.iter().map(|s| s.to_string()).collect()
}

fn has_let(e: &Expr) -> bool {
    struct Look(bool);
    impl<'ast> Visit<'ast> for Look {
        fn visit_expr_let(&mut self, _: &'ast syn::ExprLet) {
            self.0 = true;
        }
    }
    let mut look = Look(false);
    look.visit_expr(e);
    look.0
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|a| match &a.meta {
        syn::Meta::Path(path) => path.is_ident("test"),
        syn::Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string().contains("test"),
        syn::Meta::NameValue(_) => false,
    })
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_type(&mut self, _: &'ast Type) {}
    fn visit_pat(&mut self, _: &'ast Pat) {}

    fn visit_expr_repeat(&mut self, e: &'ast syn::ExprRepeat) {
        self.visit_expr(&e.expr);
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if is_test(&item.attrs) || item.sig.constness.is_some() {
            return;
        }
        self.body(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if !is_test(&item.attrs) {
            visit::visit_item_impl(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if is_test(&item.attrs) || item.sig.constness.is_some() {
            return;
        }
        self.body(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_expr_binary(&mut self, e: &'ast syn::ExprBinary) {
        let others: &[&str] = match e.op {
            BinOp::Add(_) => &["-", "*"],
            BinOp::Sub(_) => &["+", "/"],
            BinOp::Mul(_) => &["+", "/"],
            BinOp::Div(_) => &["%", "*"],
            BinOp::Rem(_) => &["/", "+"],
            BinOp::Eq(_) => &["!="],
            BinOp::Ne(_) => &["=="],
            BinOp::Lt(_) => &["==", ">", "<="],
            BinOp::Gt(_) => &["==", "<", ">="],
            BinOp::Le(_) => &[">"],
            BinOp::Ge(_) => &["<"],
            BinOp::And(_) if !has_let(&e.left) && !has_let(&e.right) => &["||"],
            BinOp::Or(_) => &["&&"],
            BinOp::BitAnd(_) => &["|", "^"],
            BinOp::BitOr(_) => &["&", "^"],
            BinOp::BitXor(_) => &["&", "|"],
            BinOp::Shl(_) => &[">>"],
            BinOp::Shr(_) => &["<<"],
            BinOp::AddAssign(_) => &["-=", "*="],
            BinOp::SubAssign(_) => &["+=", "/="],
            BinOp::MulAssign(_) => &["+=", "/="],
            BinOp::DivAssign(_) => &["%=", "*="],
            _ => &[],
        };
        self.operators(e, others);
        visit::visit_expr_binary(self, e);
    }

    fn visit_expr_unary(&mut self, e: &'ast syn::ExprUnary) {
        if matches!(e.op, syn::UnOp::Not(_) | syn::UnOp::Neg(_)) && !matches!(*e.expr, Expr::Lit(_)) {
            let (what, replacement) = (format!("{} goes", self.source(&e.op)), self.source(&e.expr).to_owned());
            self.add(e.span().byte_range(), e.span().start(), what, Replacement::Expression(replacement));
        }
        visit::visit_expr_unary(self, e);
    }

    fn visit_expr_method_call(&mut self, e: &'ast syn::ExprMethodCall) {
        let other = match e.method.to_string().as_str() {
            "min" if e.args.len() == 1 => Some("max"),
            "max" if e.args.len() == 1 => Some("min"),
            _ => None,
        };
        if let Some(other) = other {
            let replacement = format!("{}.{other}({})", self.source(&e.receiver), self.source(&e.args));
            let what = format!("{} becomes {other}", e.method);
            self.add(e.span().byte_range(), e.method.span().start(), what, Replacement::Expression(replacement));
        }
        visit::visit_expr_method_call(self, e);
    }

    fn visit_expr_match(&mut self, e: &'ast syn::ExprMatch) {
        let ends_in_any = e.arms.last().is_some_and(|a| matches!(a.pat, Pat::Wild(_)) && a.guard.is_none());
        for arm in e.arms.iter().rev().skip(1).filter(|_| ends_in_any) {
            let (at, what) = (arm.pat.span(), format!("the arm {} goes", self.source(&arm.pat)));
            match &arm.guard {
                None => self.add(at.byte_range().end..at.byte_range().end, at.start(), what, Replacement::NoArm),
                Some((_, guard)) if !has_let(guard) => {
                    self.add(guard.span().byte_range(), at.start(), what, Replacement::NoGuard);
                }
                Some(_) => {}
            }
        }
        visit::visit_expr_match(self, e);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards, operators in them and in one another: each mutant is in the text once, which is Rust, and where it was
    /// said to be; and without any of them the text stays as it is.
    #[test]
    fn every_mutant_is_in_the_text() {
        let text = r#"
fn f(a: u64, b: u64) -> u64 {
    match a {
        1 if a != b && b < 2 => a + b * a,
        2 => a.min(b) - 1,
        _ => !a,
    }
}
#[cfg(test)]
impl T {
    fn g() -> bool {
        1 < 2
    }
}
"#;
        let all = mutants("f.rs", text).expect("it is Rust");
        let numbered: Vec<(usize, &Mutant)> = all.iter().enumerate().collect();
        let (out, places) = mutated(text, &numbered);
        syn::parse_file(&out).unwrap_or_else(|e| panic!("{e}:\n{out}"));
        assert_eq!(places.len(), all.len());
        for (id, place) in places {
            let is = format!("crate::mutant::is({id})");
            assert_eq!(out.matches(&is).count(), 1, "{}: {out}", all[id].what);
            assert!(out[place.clone()].contains(&is), "{}: {}", all[id].what, &out[place]);
        }
        assert_eq!(mutated(text, &[]).0, text);
        let what: Vec<&str> = all.iter().map(|m| m.what.as_str()).collect();
        for one in
            ["!= becomes ==", "&& becomes ||", "min becomes max", "f gives 0", "the arm 2 goes", "the arm 1 goes"]
        {
            assert!(what.contains(&one), "{one} is not in {what:?}");
        }
    }
}
