//! The file around the sections: style, policy, and in a live page the engine and what it begins with.

use super::{Section, packed};
use crate::pens::svg::escape;
use std::fmt::Write;

/// Bytes of a page without an engine at most.
pub(crate) const MOST_STATIC: usize = 300_000;
/// Bytes of the sections of a live page at most: with the engine it stays below 3 MB.
const MOST_LIVE: usize = 500_000;

/// The page's style: colours of both modes, tables that scroll by themselves, and paper.
pub(in crate::pens) const STYLE: &str = include_str!("page.css");

/// What makes a page live. All of it is text that stands in the file.
#[derive(Clone, Copy, Debug)]
pub struct Live<'a> {
    /// The script that unpacks the page's own; it holds no `</script`.
    pub loader: &'a str,
    /// The page's script, compressed by gzip.
    pub page: &'a [u8],
    /// SHA-256 of both as the page's policy lists them: no other script runs.
    pub hashes: &'a str,
    /// The script of the worker.
    pub worker: &'a str,
    /// The engine: WebAssembly, compressed by gzip.
    pub engine: &'a [u8],
    /// What the page begins with, JSON: scenario, overrides, files.
    pub begin: &'a str,
}

/// A page.
#[derive(Clone, Debug)]
pub struct Document<'a> {
    /// Its heading.
    pub title: &'a str,
    /// A line below it: the command that made it.
    pub about: &'a str,
    /// Its content.
    pub sections: Vec<Section>,
    /// The scenario's text, to be read where there is no engine.
    pub scenario: &'a str,
    /// The engine, where there is one.
    pub live: Option<Live<'a>>,
}

impl Document<'_> {
    /// The whole file. A section that would make a page too large is left out, and that is said in its place.
    pub fn html(&self) -> String {
        let most = if self.live.is_some() { MOST_LIVE } else { MOST_STATIC - STYLE.len() - 2_000 };
        let mut out = String::new();
        let title = if self.title.trim().is_empty() { "lanescope" } else { self.title };
        // Of all sources only the page's own scripts, by their hashes, workers made of its own text, and the marks that
        // the editor draws from its own style. Nothing may be asked for: no connection, font, frame or form.
        let policy = match &self.live {
            Some(live) => format!(
                "default-src 'none'; script-src {} 'wasm-unsafe-eval'; worker-src blob:; \
                 style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'",
                live.hashes
            ),
            None => "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'".to_owned(),
        };
        let _ = write!(
            out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\"/>\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
             <meta name=\"referrer\" content=\"no-referrer\"/>\n\
             <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body{}>\n\
             <a class=\"skip\" href=\"#main\">To the answer</a>\n\
             <header><h1 id=\"title\">{}</h1>\n<p class=\"soft\" id=\"about\">{}</p>\n\
             <div id=\"tools\"></div>\n<div id=\"status\" role=\"status\" aria-live=\"polite\"></div></header>\n\
             <main id=\"main\">\n<div id=\"lab\"></div>\n<div id=\"report\">\n",
            escape(title),
            if self.live.is_some() { " class=\"live\"" } else { "" },
            escape(title),
            escape(self.about),
        );
        let mut used = 0;
        for s in &self.sections {
            let fits = used + s.html.len() <= most;
            let html = match fits {
                true => s.html.as_str(),
                false => {
                    "<p class=\"soft\">too large for this page; the command prints it, and draws with --svg DIR</p>\n"
                }
            };
            used += html.len();
            let _ = write!(
                out,
                "<section id=\"{}\" aria-labelledby=\"h-{}\">\n<h2 id=\"h-{}\">{}</h2>\n\
                 <div class=\"body\">{html}</div>\n\
                 </section>\n",
                s.id,
                s.id,
                s.id,
                escape(&s.title)
            );
        }
        out += "</div>\n";
        if !self.scenario.is_empty() {
            let text = text(self.scenario);
            out += "<section id=\"scenario\" aria-labelledby=\"h-scenario\">\n<h2 id=\"h-scenario\">Scenario</h2>\n";
            out += &match used + text.len() <= most {
                true => format!("<pre id=\"text\" tabindex=\"0\">{text}</pre>\n"),
                false => "<p class=\"soft\">the scenario is too large for this page</p>\n".to_owned(),
            };
            out += "</section>\n";
        }
        out +=
            "</main>\n<footer class=\"soft\">Made by lanescope. The page asks for nothing from elsewhere.</footer>\n";
        if let Some(live) = &self.live {
            out +=
                "<noscript><p class=\"soft\">Scripts are off: this is the report as it was written.</p></noscript>\n";
            // Blocks of data: browsers run none of these types. Their text must not end its own element.
            for (id, kind, text) in [
                ("engine", "text/plain", packed::text(live.engine)),
                ("page", "text/plain", packed::text(live.page)),
                ("worker", "text/plain", closed(live.worker)),
                ("begin", "application/json", closed(live.begin)),
            ] {
                let _ = writeln!(out, "<script type=\"{kind}\" id=\"{id}\">{text}</script>");
            }
            let _ = writeln!(out, "<script>{}</script>", live.loader);
        }
        out += "</body>\n</html>\n";
        out
    }
}

/// A text of several lines as markup.
fn text(text: &str) -> String {
    text.lines().map(escape).collect::<Vec<_>>().join("\n")
}

/// JSON or JavaScript in which no `<` can begin an end tag or a comment: in strings, where alone these stand, the
/// escape means the same.
fn closed(text: &str) -> String {
    text.replace("</", "\\u003c/").replace("<!--", "\\u003c!--")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_its_element() {
        let begin = serde_json::json!({ "text": "</script><script>alert(1)</script><!--" }).to_string();
        let live = Live {
            loader: "let x;",
            page: &[255; 40],
            hashes: "'sha256-h'",
            worker: "'</script>'",
            engine: &[0; 40],
            begin: &begin,
        };
        let section = Section { id: "answer".into(), title: "A".into(), html: "<p>x</p>".into() };
        let document = Document {
            title: "<b>&",
            about: "",
            sections: vec![section],
            scenario: "</pre><script>",
            live: Some(live),
        };
        let html = document.html();
        // An element ends at the first such text, and one that a comment opens in would not end there.
        assert_eq!(html.matches("</script").count(), 5, "{html}");
        assert!(!html.contains("<!--"), "{html}");
        assert!(html.contains("&lt;b&gt;&amp;") && html.contains("&lt;/pre&gt;&lt;script&gt;"));
    }

    #[test]
    fn a_static_page_stays_small() {
        let section = |id: &str, n: usize| Section { id: id.into(), title: "S".into(), html: "x".repeat(n) };
        let sections = vec![section("answer", 200_000), section("links", 200_000), section("words", 50_000)];
        let scenario = "y".repeat(1 << 20);
        let document = Document { title: "t", about: "", sections, scenario: &scenario, live: None };
        let html = document.html();
        assert!(html.len() < MOST_STATIC, "{}", html.len());
        assert!(html.matches("too large").count() == 2 && !html.contains("<script"));
    }
}
