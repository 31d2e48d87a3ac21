//! Texts that name other texts, and the library's only door to those.

use crate::scenario::tree::Author;

/// A text that another text names: a library device, a platform, a user's own file.
#[derive(Clone, Debug)]
pub struct Included {
    /// What to call it in messages.
    pub name: String,
    /// The text.
    pub text: String,
    /// Who wrote it.
    pub author: Author,
}

/// The library's only door to other texts. The caller decides whether a name may touch a file.
pub trait Resolver {
    /// The text that `reference`, written in the text called `from`, stands for; or why there is none.
    fn resolve(&self, reference: &str, from: &str) -> Result<Included, String>;
    /// The same of a trace, which may be longer than a scenario and have any name.
    fn trace(&self, reference: &str, from: &str) -> Result<Included, String> {
        self.resolve(reference, from)
    }
    /// Names that exist, for suggestions.
    fn names(&self) -> Vec<String>;
}

/// For texts that the program writes itself, which name no others.
pub(crate) struct Nothing;

impl Resolver for Nothing {
    fn resolve(&self, _: &str, _: &str) -> Result<Included, String> {
        Err("nothing can be included here".into())
    }
    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}
