//! Columns handed over without copies, by the Arrow PyCapsule interface.

use crate::convert::plain;
use arrow_array::builder::{Float64Builder, Int64Builder, StringBuilder};
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchIterator};
use lanescope::pens::Grid;
use lanescope_front::sweep::{Cell, cell};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::sync::Arc;

/// A table that pandas, polars, duckdb and pyarrow take as it is.
#[pyclass(frozen, module = "lanescope._lanescope")]
pub(crate) struct Table {
    batch: RecordBatch,
}

#[pymethods]
impl Table {
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer hand over what it has where it cannot cast.
        let _ = requested_schema;
        let reader = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch.schema().as_ref()).map_err(|e| plain(py, &e.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// Heads of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|f| f.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// One column as a list: numbers in SI steps, whole numbers, text, or `None`.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let Some(column) = self.batch.column_by_name(name) else {
            return Err(plain(py, &format!("there is no column {name}; there are {}", self.columns().join(", "))));
        };
        let value = |at: usize| match cell(column, at) {
            Cell::Null => Ok(py.None().into_bound(py)),
            Cell::Int(n) => n.into_bound_py_any(py),
            Cell::Float(v) => v.into_bound_py_any(py),
            Cell::Text(t) => t.into_bound_py_any(py),
        };
        (0..column.len()).map(value).collect()
    }
}

impl From<RecordBatch> for Table {
    fn from(batch: RecordBatch) -> Table {
        Table { batch }
    }
}

impl Table {
    /// A pen's table, its columns as what they hold: numbers in SI units, whole numbers, or text.
    pub(crate) fn of(py: Python, grid: &Grid) -> PyResult<Table> {
        let columns = grid.head.iter().enumerate().map(|(i, head)| {
            let cells = || grid.rows.iter().map(move |r| r.get(i).map_or("", String::as_str));
            (head.as_str(), column(head, &cells), true)
        });
        let batch = RecordBatch::try_from_iter_with_nullable(columns).map_err(|e| plain(py, &e.to_string()))?;
        Ok(Table { batch })
    }
}

fn column<'a, I: Iterator<Item = &'a str>>(head: &str, cells: &dyn Fn() -> I) -> ArrayRef {
    let full = || cells().filter(|c| !c.is_empty());
    let number = |c: &str| c.parse::<f64>().is_ok();
    let unit = head.ends_with("_bps") || head.ends_with("_s") || head.ends_with("_share");
    if unit && full().all(number) {
        let mut all = Float64Builder::new();
        cells().for_each(|c| all.append_option(c.parse().ok()));
        Arc::new(all.finish())
    } else if full().next().is_some() && full().all(|c| c.parse::<i64>().is_ok()) {
        let mut all = Int64Builder::new();
        cells().for_each(|c| all.append_option(c.parse().ok()));
        Arc::new(all.finish())
    } else {
        let mut all = StringBuilder::new();
        cells().for_each(|c| all.append_option((!c.is_empty()).then_some(c)));
        Arc::new(all.finish())
    }
}
