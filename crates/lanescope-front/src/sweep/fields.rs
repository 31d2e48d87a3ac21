//! The columns of a sweep's rows, whatever writes them: Parquet here, Arrow in the Python package.

use super::{COLUMNS, Cell, Kind, Question, Row};

/// Which value of a row a column has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    Point,
    Place,
    Path(usize),
    Seed,
    Cell(usize),
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its head.
    pub name: String,
    /// What it holds.
    pub kind: Kind,
    /// Of whole numbers without a sign: their bits.
    pub unsigned: Option<u8>,
    /// Whether a row may have no value in it.
    pub nullable: bool,
    from: From,
}

impl Question {
    /// The columns: `point`, `place` (of a row in its point), the varied paths, `seed` where there are several,
    /// [`COLUMNS`], and the metrics.
    pub fn fields(&self) -> Vec<Field> {
        let field = |name: &str, kind, unsigned, nullable, from| Field {
            name: name.to_owned(),
            kind,
            unsigned,
            nullable,
            from,
        };
        let mut all = vec![
            field("point", Kind::Int, Some(64), false, From::Point),
            field("place", Kind::Int, Some(32), false, From::Place),
        ];
        let paths = self.paths.iter().zip(self.kinds()).enumerate();
        all.extend(paths.map(|(i, (path, kind))| field(path, kind, None, false, From::Path(i))));
        if !self.seeds.is_empty() {
            all.push(field("seed", Kind::Int, Some(32), false, From::Seed));
        }
        let metrics = self.metrics.iter().map(|m| (m.as_str(), Kind::Float));
        let cells = COLUMNS.iter().map(|c| (c.name, c.kind)).chain(metrics).enumerate();
        all.extend(cells.map(|(i, (name, kind))| field(name, kind, None, true, From::Cell(i))));
        all
    }
}

impl Field {
    /// Its value in a row.
    pub fn value(&self, question: &Question, row: &Row) -> Cell {
        match self.from {
            From::Point => Cell::Int(row.point as i64),
            From::Place => Cell::Int(i64::from(row.place)),
            From::Seed => Cell::Int(i64::from(question.point(row.point).1.unwrap_or_default())),
            From::Path(i) => {
                let text = question.point(row.point).0[i];
                match self.kind {
                    Kind::Int => text.parse().map_or(Cell::Null, Cell::Int),
                    Kind::Float => text.parse().map_or(Cell::Null, Cell::Float),
                    Kind::Text => Cell::Text(text.to_owned()),
                }
            }
            From::Cell(i) => row.cells[i].clone(),
        }
    }
}

/// Rows out of the values of their columns, as [`Question::fields`] has them; `value` gives the one of a column and a
/// place. What follows from the point, its paths and its seed, is not looked at.
pub fn rows(question: &Question, number: usize, mut value: impl FnMut(usize, usize) -> Cell) -> Vec<Row> {
    let fields = question.fields();
    let first = fields.iter().position(|f| matches!(f.from, From::Cell(_))).unwrap_or(fields.len());
    let mut whole = |column, at| if let Cell::Int(n) = value(column, at) { n } else { 0 };
    let mut all: Vec<Row> = (0..number)
        .map(|at| Row { point: whole(0, at) as u64, place: whole(1, at) as u32, cells: Vec::new() })
        .collect();
    for (at, row) in all.iter_mut().enumerate() {
        row.cells = (first..fields.len()).map(|column| value(column, at)).collect();
    }
    all
}
