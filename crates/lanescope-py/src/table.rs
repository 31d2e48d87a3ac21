//! Columns handed over without copies, by the Arrow PyCapsule interface.

use crate::convert::plain;
use arrow_array::builder::{Float64Builder, Int64Builder, StringBuilder, UInt32Builder, UInt64Builder};
use arrow_array::cast::AsArray;
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchIterator};
use arrow_schema::{DataType, Field, Schema};
use lanescope::pens::Grid;
use lanescope_front::sweep::{Cell, Kind, Question, Row, rows};
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

/// Rows of a sweep as one batch of columns.
pub(crate) fn batch(question: &Question, rows: &[Row]) -> Result<RecordBatch, String> {
    let (mut fields, mut arrays) = (Vec::<Field>::new(), Vec::<ArrayRef>::new());
    for field in question.fields() {
        let cells = || rows.iter().map(|row| field.value(question, row));
        let int = |cell| if let Cell::Int(n) = cell { Some(n) } else { None };
        let array: ArrayRef = match (field.kind, field.unsigned) {
            (Kind::Int, Some(32)) => {
                let mut all = UInt32Builder::new();
                cells().for_each(|c| all.append_option(int(c).map(|n| n as u32)));
                Arc::new(all.finish())
            }
            (Kind::Int, Some(_)) => {
                let mut all = UInt64Builder::new();
                cells().for_each(|c| all.append_option(int(c).map(|n| n as u64)));
                Arc::new(all.finish())
            }
            (Kind::Int, None) => {
                let mut all = Int64Builder::new();
                cells().for_each(|c| all.append_option(int(c)));
                Arc::new(all.finish())
            }
            (Kind::Float, _) => {
                let mut all = Float64Builder::new();
                cells().for_each(|c| all.append_option(if let Cell::Float(v) = c { Some(v) } else { None }));
                Arc::new(all.finish())
            }
            (Kind::Text, _) => {
                let mut all = StringBuilder::new();
                cells().for_each(|c| all.append_option(if let Cell::Text(t) = c { Some(t) } else { None }));
                Arc::new(all.finish())
            }
        };
        fields.push(Field::new(field.name, array.data_type().clone(), field.nullable));
        arrays.push(array);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(|e| e.to_string())
}

/// The rows of such a batch.
pub(crate) fn rows_of(question: &Question, batch: &RecordBatch) -> Vec<Row> {
    rows(question, batch.num_rows(), |column, at| cell(batch.column(column), at))
}

/// A value of a column.
fn cell(column: &ArrayRef, at: usize) -> Cell {
    if column.is_null(at) {
        return Cell::Null;
    }
    match column.data_type() {
        DataType::Int64 => Cell::Int(column.as_primitive::<Int64Type>().value(at)),
        DataType::UInt64 => Cell::Int(column.as_primitive::<UInt64Type>().value(at) as i64),
        DataType::UInt32 => Cell::Int(i64::from(column.as_primitive::<UInt32Type>().value(at))),
        DataType::Float64 => Cell::Float(column.as_primitive::<Float64Type>().value(at)),
        _ => Cell::Text(column.as_string::<i32>().value(at).to_owned()),
    }
}
