//! JSON's values as Python's, and what is wrong as exceptions of the package.

use lanescope::diagnostic::{Diagnostics, Severity};
use lanescope_front::draw;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde::Serialize;
use serde_json::Value;

/// A value of JSON as Python has it.
pub(crate) fn object<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Null => Ok(py.None().into_bound(py)),
        Value::Bool(b) => b.into_bound_py_any(py),
        Value::Number(n) => match (n.as_i64(), n.as_u64()) {
            (Some(n), _) => n.into_bound_py_any(py),
            (None, Some(n)) => n.into_bound_py_any(py),
            (None, None) => n.as_f64().into_bound_py_any(py),
        },
        Value::String(s) => s.into_bound_py_any(py),
        Value::Array(all) => {
            let list = PyList::empty(py);
            for one in all {
                list.append(object(py, one)?)?;
            }
            Ok(list.into_any())
        }
        Value::Object(all) => {
            let dict = PyDict::new(py);
            for (key, one) in all {
                dict.set_item(key, object(py, one)?)?;
            }
            Ok(dict.into_any())
        }
    }
}

/// Anything that can be written as JSON.
pub(crate) fn any<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let value = serde_json::to_value(value).map_err(|e| plain(py, &e.to_string()))?;
    object(py, &value)
}

/// An error that points nowhere.
pub(crate) fn plain(py: Python, message: &str) -> PyErr {
    raised(py, "LanescopeError", |class| class.call1((message,)))
}

/// The same of a sweep.
pub(crate) fn of_sweep(py: Python, message: &str) -> PyErr {
    raised(py, "SweepError", |class| class.call1((message,)))
}

/// What is wrong with a scenario: the text that the command prints, and each diagnostic with its place.
pub(crate) fn wrong(py: Python, all: &Diagnostics) -> PyErr {
    raised(py, "ScenarioError", |class| {
        let list = PyList::empty(py);
        for d in all.sorted() {
            let one = PyDict::new(py);
            one.set_item("severity", if d.severity == Severity::Error { "error" } else { "warning" })?;
            one.set_item("message", &d.message)?;
            one.set_item("label", &d.label)?;
            one.set_item("hint", &d.hint)?;
            if let Some(span) = d.span {
                let (file, line, column) = all.place(span);
                let source = &all.source(span.source).text;
                let bytes = source.as_bytes().get(span.start as usize..span.end as usize).unwrap_or_default();
                one.set_item("file", file)?;
                one.set_item("line", line)?;
                one.set_item("column", column)?;
                one.set_item("span", (span.start, span.end))?;
                one.set_item("text", String::from_utf8_lossy(bytes))?;
            }
            list.append(one)?;
        }
        class.call1((draw::plain(all), list))
    })
}

/// An exception of the package's own file `errors.py`.
fn raised<'py>(
    py: Python<'py>,
    name: &str,
    make: impl FnOnce(&Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
) -> PyErr {
    let made = py.import("lanescope.errors").and_then(|m| m.getattr(name)).and_then(|class| make(&class));
    made.map_or_else(|e| e, PyErr::from_value)
}
