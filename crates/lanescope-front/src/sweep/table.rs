//! Rows as Arrow's columns and as a file of Parquet, and back.

use super::{COLUMNS, Cell, Kind, Question, Row};
use arrow_array::builder::{Float64Builder, Int64Builder, StringBuilder, UInt32Builder, UInt64Builder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::ChunkReader;
use std::io::Write;
use std::sync::Arc;

/// The key of a file's metadata that says which sweep it is of.
const SWEEP: &str = "lanescope.sweep";

fn data_type(kind: Kind) -> DataType {
    match kind {
        Kind::Int => DataType::Int64,
        Kind::Float => DataType::Float64,
        Kind::Text => DataType::Utf8,
    }
}

/// The columns of a sweep: `point`, `place` (of a row in its point), the varied paths, `seed` where there are several,
/// [`COLUMNS`], and the metrics.
pub fn schema(question: &Question) -> Schema {
    let mut fields = vec![Field::new("point", DataType::UInt64, false), Field::new("place", DataType::UInt32, false)];
    let kinds = question.kinds();
    fields.extend(question.paths.iter().zip(kinds).map(|(path, kind)| Field::new(path, data_type(kind), false)));
    if !question.seeds.is_empty() {
        fields.push(Field::new("seed", DataType::UInt32, false));
    }
    fields.extend(COLUMNS.iter().map(|c| Field::new(c.name, data_type(c.kind), true)));
    fields.extend(question.metrics.iter().map(|m| Field::new(m, DataType::Float64, true)));
    Schema::new(fields)
}

fn column<'a>(kind: Kind, cells: impl Iterator<Item = &'a Cell>) -> ArrayRef {
    match kind {
        Kind::Int => {
            let mut all = Int64Builder::new();
            cells.for_each(|c| all.append_option(if let Cell::Int(n) = c { Some(*n) } else { None }));
            Arc::new(all.finish())
        }
        Kind::Float => {
            let mut all = Float64Builder::new();
            cells.for_each(|c| all.append_option(if let Cell::Float(v) = c { Some(*v) } else { None }));
            Arc::new(all.finish())
        }
        Kind::Text => {
            let mut all = StringBuilder::new();
            cells.for_each(|c| all.append_option(if let Cell::Text(t) = c { Some(t) } else { None }));
            Arc::new(all.finish())
        }
    }
}

/// Rows as one batch of columns.
///
/// # Errors
///
/// What Arrow says of columns that do not fit together: a bug of this program.
pub fn batch(question: &Question, rows: &[Row]) -> Result<RecordBatch, String> {
    let (mut points, mut places, mut seeds) = (UInt64Builder::new(), UInt32Builder::new(), UInt32Builder::new());
    let mut values: Vec<Vec<Cell>> = vec![Vec::new(); question.paths.len()];
    let kinds = question.kinds();
    for row in rows {
        points.append_value(row.point);
        places.append_value(row.place);
        let (own, seed) = question.point(row.point);
        for ((column, kind), text) in values.iter_mut().zip(&kinds).zip(own) {
            column.push(match kind {
                Kind::Int => text.parse().map_or(Cell::Null, Cell::Int),
                Kind::Float => text.parse().map_or(Cell::Null, Cell::Float),
                Kind::Text => Cell::Text(text.to_owned()),
            });
        }
        seeds.append_value(seed.unwrap_or_default());
    }
    let mut arrays: Vec<ArrayRef> = vec![Arc::new(points.finish()), Arc::new(places.finish())];
    arrays.extend(values.iter().zip(&kinds).map(|(cells, kind)| column(*kind, cells.iter())));
    if !question.seeds.is_empty() {
        arrays.push(Arc::new(seeds.finish()));
    }
    let kinds = COLUMNS.iter().map(|c| c.kind).chain(question.metrics.iter().map(|_| Kind::Float));
    arrays.extend(kinds.enumerate().map(|(i, kind)| column(kind, rows.iter().map(|r| &r.cells[i]))));
    RecordBatch::try_new(Arc::new(schema(question)), arrays).map_err(|e| e.to_string())
}

/// Writes rows as a file of Parquet that says which sweep it is of.
///
/// # Errors
///
/// What writing says, e.g. that the disk is full.
pub fn to_parquet(question: &Question, identity: &str, rows: &[Row], to: impl Write + Send) -> Result<(), String> {
    let whose = KeyValue::new(SWEEP.to_owned(), identity.to_owned());
    let properties = WriterProperties::builder().set_key_value_metadata(Some(vec![whose])).build();
    let batch = batch(question, rows)?;
    let written = ArrowWriter::try_new(to, batch.schema(), Some(properties)).and_then(|mut out| {
        out.write(&batch)?;
        out.close()
    });
    written.map(|_| ()).map_err(|e| e.to_string())
}

/// Opens a file that [`to_parquet`] wrote.
fn opened<T: ChunkReader + 'static>(
    question: &Question,
    identity: &str,
    from: T,
) -> Result<ParquetRecordBatchReaderBuilder<T>, String> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(from).map_err(|e| broken(&e))?;
    let notes = reader.metadata().file_metadata().key_value_metadata();
    let whose = notes.and_then(|all| all.iter().find(|n| n.key == SWEEP)?.value.as_deref());
    if whose != Some(identity) {
        return Err("it belongs to another sweep, or to none".into());
    }
    if reader.schema().fields() != schema(question).fields() {
        return Err("its columns are not those of this sweep".into());
    }
    Ok(reader)
}

fn broken(e: &dyn std::fmt::Display) -> String {
    format!("it is no whole file of Parquet ({e})")
}

/// Reads the rows of a file that [`to_parquet`] wrote.
///
/// # Errors
///
/// What is no whole file of Parquet, of another sweep, or with other columns or points.
pub fn from_parquet(question: &Question, identity: &str, from: impl ChunkReader + 'static) -> Result<Vec<Row>, String> {
    let reader = opened(question, identity, from)?;
    let size = question.size()?;
    let mut rows = Vec::new();
    for batch in reader.build().map_err(|e| broken(&e))? {
        rows.extend(rows_of(question, &batch.map_err(|e| broken(&e))?));
    }
    if rows.iter().any(|r| r.point >= size) {
        return Err("it has points that this sweep does not have".into());
    }
    Ok(rows)
}

/// The numbers of the points of such a file, without their rows.
///
/// # Errors
///
/// Those of [`from_parquet`], but for what is broken in other columns.
pub fn points_of(question: &Question, identity: &str, from: impl ChunkReader + 'static) -> Result<Vec<u64>, String> {
    let reader = opened(question, identity, from)?;
    let size = question.size()?;
    let first = ProjectionMask::leaves(reader.parquet_schema(), [0]);
    let mut points = Vec::new();
    for batch in reader.with_projection(first).build().map_err(|e| broken(&e))? {
        let batch = batch.map_err(|e| broken(&e))?;
        points.extend_from_slice(batch.column(0).as_primitive::<UInt64Type>().values());
    }
    if points.iter().any(|p| *p >= size) {
        return Err("it has points that this sweep does not have".into());
    }
    points.dedup();
    Ok(points)
}

/// The rows of a batch that [`batch`] made.
pub fn rows_of(question: &Question, batch: &RecordBatch) -> Vec<Row> {
    let first = 2 + question.paths.len() + usize::from(!question.seeds.is_empty());
    let points = batch.column(0).as_primitive::<UInt64Type>();
    let places = batch.column(1).as_primitive::<UInt32Type>();
    let row = |i: usize| Row {
        point: points.value(i),
        place: places.value(i),
        cells: batch.columns()[first..].iter().map(|c| cell(c, i)).collect(),
    };
    (0..batch.num_rows()).map(row).collect()
}

/// The same of bytes that another process has sent.
///
/// # Errors
///
/// Those of [`from_parquet`].
pub fn rows_of_bytes(question: &Question, identity: &str, bytes: Vec<u8>) -> Result<Vec<Row>, String> {
    from_parquet(question, identity, bytes::Bytes::from(bytes))
}

/// A value of a column.
pub fn cell(column: &ArrayRef, at: usize) -> Cell {
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
