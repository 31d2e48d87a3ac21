//! Rows as a file of Parquet, and back: column by column, as the format has it, and no compression.

use super::fields::rows;
use super::{Cell, Field, Kind, Question, Row};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};
use std::io::Write;
use std::sync::Arc;

/// The key of a file's metadata that says which sweep it is of.
const SWEEP: &str = "lanescope.sweep";
/// Values that are read at once.
const PIECE: usize = 1 << 14;

/// How a column stands in the file.
fn physical(field: &Field) -> Physical {
    match (field.kind, field.unsigned) {
        (Kind::Int, Some(32)) => Physical::INT32,
        (Kind::Int, _) => Physical::INT64,
        (Kind::Float, _) => Physical::DOUBLE,
        (Kind::Text, _) => Physical::BYTE_ARRAY,
    }
}

/// The schema of the file.
fn schema(question: &Question) -> Result<TypePtr, ParquetError> {
    let column = |field: &Field| {
        let logical = match (field.kind, field.unsigned) {
            (Kind::Int, Some(bits)) => Some(LogicalType::integer(bits as i8, false)),
            (Kind::Text, _) => Some(LogicalType::String),
            _ => None,
        };
        let repetition = if field.nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let column = Type::primitive_type_builder(&field.name, physical(field)).with_repetition(repetition);
        column.with_logical_type(logical).build().map(Arc::new)
    };
    let columns = question.fields().iter().map(column).collect::<Result<Vec<_>, _>>()?;
    Type::group_type_builder("schema").with_fields(columns).build().map(Arc::new)
}

/// Writes the next column: the values that are there, and where there are some.
fn write<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    nullable: bool,
    cells: impl Iterator<Item = Option<T::T>>,
) -> Result<(), ParquetError> {
    let (mut values, mut there) = (Vec::new(), Vec::new());
    for cell in cells {
        there.push(i16::from(cell.is_some()));
        values.extend(cell);
    }
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General("a column more than the schema has".into()));
    };
    column.typed::<T>().write_batch(&values, nullable.then_some(&there), None)?;
    column.close()
}

/// Writes rows as a file of Parquet that says which sweep it is of.
///
/// # Errors
///
/// What writing says, e.g. that the disk is full.
pub fn to_parquet(question: &Question, identity: &str, rows: &[Row], to: impl Write + Send) -> Result<(), String> {
    let whose = KeyValue::new(SWEEP.to_owned(), identity.to_owned());
    let properties = WriterProperties::builder().set_key_value_metadata(Some(vec![whose])).build();
    let write = || -> Result<(), ParquetError> {
        let mut file = SerializedFileWriter::new(to, schema(question)?, Arc::new(properties))?;
        let mut group = file.next_row_group()?;
        for field in question.fields() {
            let cells = || rows.iter().map(|row| field.value(question, row));
            let int = |cell| if let Cell::Int(n) = cell { Some(n) } else { None };
            let float = |cell| if let Cell::Float(v) = cell { Some(v) } else { None };
            let text = |cell| if let Cell::Text(t) = cell { Some(ByteArray::from(t.into_bytes())) } else { None };
            let nullable = field.nullable;
            match physical(&field) {
                Physical::INT32 => write::<Int32Type>(&mut group, nullable, cells().map(int).map(|n| Some(n? as i32))),
                Physical::INT64 => write::<Int64Type>(&mut group, nullable, cells().map(int)),
                Physical::DOUBLE => write::<DoubleType>(&mut group, nullable, cells().map(float)),
                _ => write::<ByteArrayType>(&mut group, nullable, cells().map(text)),
            }?;
        }
        group.close()?;
        file.close().map(|_| ())
    };
    write().map_err(|e| e.to_string())
}

fn broken(e: &dyn std::fmt::Display) -> String {
    format!("it is not a whole file of Parquet ({e})")
}

/// Opens a file that [`to_parquet`] wrote.
fn opened<T: ChunkReader + 'static>(
    question: &Question,
    identity: &str,
    from: T,
) -> Result<SerializedFileReader<T>, String> {
    let reader = SerializedFileReader::new(from).map_err(|e| broken(&e))?;
    let about = reader.metadata().file_metadata();
    let whose = about.key_value_metadata().and_then(|all| all.iter().find(|n| n.key == SWEEP)?.value.as_deref());
    if whose != Some(identity) {
        return Err("it belongs to another sweep, or to none".into());
    }
    if schema(question).map_err(|e| e.to_string())?.get_fields() != about.schema().get_fields() {
        return Err("its columns are not those of this sweep".into());
    }
    Ok(reader)
}

/// Reads a column to its end.
fn read<T: DataType>(mut column: ColumnReaderImpl<T>, cell: fn(&T::T) -> Cell) -> Result<Vec<Cell>, ParquetError> {
    let (mut cells, mut values, mut there) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        values.clear();
        there.clear();
        let (records, found, _) = column.read_records(PIECE, Some(&mut there), None, &mut values)?;
        if records == 0 {
            return Ok(cells);
        }
        let mut values = values.iter().take(found).map(cell);
        // A column that always has a value has no levels that say so.
        match there.is_empty() {
            true => cells.extend(values),
            false => {
                cells.extend(there.iter().map(|l| (*l > 0).then(|| values.next()).flatten().unwrap_or(Cell::Null)))
            }
        }
    }
}

/// The values of one column of one group of rows.
fn column(from: &dyn FileReader, group: usize, at: usize, field: &Field) -> Result<Vec<Cell>, ParquetError> {
    let reader = from.get_row_group(group)?.get_column_reader(at)?;
    match (reader, field.unsigned) {
        // Without a sign: the bits are those of a number that may be greater than one with a sign is.
        (ColumnReader::Int32ColumnReader(c), Some(_)) => read(c, |n| Cell::Int(i64::from(*n as u32))),
        (ColumnReader::Int64ColumnReader(c), _) => read(c, |n| Cell::Int(*n)),
        (ColumnReader::DoubleColumnReader(c), _) => read(c, |v| Cell::Float(*v)),
        (ColumnReader::ByteArrayColumnReader(c), _) => {
            read(c, |t| Cell::Text(String::from_utf8_lossy(t.data()).into_owned()))
        }
        _ => Err(ParquetError::General(format!("column {} is of another type", field.name))),
    }
}

/// Reads the rows of a file that [`to_parquet`] wrote.
///
/// # Errors
///
/// What is no whole file of Parquet, of another sweep, or with other columns or points.
pub fn from_parquet(question: &Question, identity: &str, from: impl ChunkReader + 'static) -> Result<Vec<Row>, String> {
    let reader = opened(question, identity, from)?;
    let size = question.size()?;
    let mut all = Vec::new();
    for group in 0..reader.num_row_groups() {
        let fields = question.fields();
        let columns = fields.iter().enumerate().map(|(at, field)| column(&reader, group, at, field));
        let mut columns = columns.collect::<Result<Vec<_>, _>>().map_err(|e| broken(&e))?;
        let number = columns[0].len();
        if columns.iter().any(|c| c.len() != number) {
            return Err(broken(&"its columns are of several lengths"));
        }
        all.extend(rows(question, number, |column, at| std::mem::replace(&mut columns[column][at], Cell::Null)));
    }
    match all.iter().all(|r| r.point < size) {
        true => Ok(all),
        false => Err("it has points that this sweep does not have".into()),
    }
}

/// The numbers of the points of such a file, without their rows.
///
/// # Errors
///
/// Those of [`from_parquet`], but for what is broken in other columns.
pub fn points_of(question: &Question, identity: &str, from: impl ChunkReader + 'static) -> Result<Vec<u64>, String> {
    let reader = opened(question, identity, from)?;
    let size = question.size()?;
    let mut points = Vec::new();
    for group in 0..reader.num_row_groups() {
        let cells = column(&reader, group, 0, &question.fields()[0]).map_err(|e| broken(&e))?;
        points.extend(cells.iter().filter_map(|c| if let Cell::Int(n) = c { Some(*n as u64) } else { None }));
    }
    points.dedup();
    match points.iter().all(|p| *p < size) {
        true => Ok(points),
        false => Err("it has points that this sweep does not have".into()),
    }
}

/// The same as [`from_parquet`] of bytes that another process has sent.
///
/// # Errors
///
/// Those of [`from_parquet`].
pub fn rows_of_bytes(question: &Question, identity: &str, bytes: Vec<u8>) -> Result<Vec<Row>, String> {
    from_parquet(question, identity, bytes::Bytes::from(bytes))
}
