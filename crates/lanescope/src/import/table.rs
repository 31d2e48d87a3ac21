//! The tables that instruments of MPI print, as plain numbers in SI units.

/// Which instruments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suite {
    /// PMB or IMB, the MPI-1 part.
    Imb,
    /// The OSU micro-benchmarks.
    Osu,
}

/// All tables of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Who prints so.
    pub suite: Suite,
    /// `2.2`, `4.1`, `2019 Update 5`, `5.6.2`; empty where the text does not say.
    pub version: String,
    /// Bytes in a "Mbyte": 2^20 in PMB and in IMB up to 2017, else 10^6.
    pub mbyte: u64,
    /// One per benchmark and number of processes.
    pub blocks: Vec<Block>,
}

/// One table.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// `PingPong`, `osu_latency`; of an unknown OSU test its title.
    pub name: String,
    /// Processes that take part; OSU does not print them.
    pub ranks: Option<u32>,
    /// Processes that wait.
    pub waiting: u32,
    /// Its rows.
    pub rows: Vec<Row>,
}

/// One row. What the instrument does not print is none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Row {
    /// Size of a message.
    pub bytes: Option<u64>,
    /// Repetitions.
    pub repetitions: Option<u64>,
    /// Time on the fastest rank, seconds.
    pub t_min: Option<f64>,
    /// Time on the slowest rank, or the only one printed, seconds.
    pub t_max: Option<f64>,
    /// Mean over ranks, seconds.
    pub t_avg: Option<f64>,
    /// Rate, bytes/s.
    pub rate: Option<f64>,
    /// Messages/s.
    pub messages: Option<f64>,
}

/// Kinds of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Bytes,
    Repetitions,
    Min,
    Max,
    Avg,
    Rate,
    Messages,
    /// One that is of no use here.
    Other,
}

impl Row {
    /// A row of whose cells every one is a number of its column; rates in units of `mbyte` a second.
    pub(super) fn of(cells: &[&str], columns: &[Column], mbyte: u64) -> Option<Row> {
        let mut row = Row::default();
        let whole = cells.len() == columns.len();
        (whole && cells.iter().zip(columns).all(|(cell, column)| row.put(*column, cell, mbyte))).then_some(row)
    }

    /// Puts a cell in its place: times in microseconds, rates in units of `mbyte` a second. Whether it is a number of
    /// that kind.
    fn put(&mut self, column: Column, cell: &str, mbyte: u64) -> bool {
        let float = cell.parse::<f64>().ok().filter(|v| (0.0..1e18).contains(v));
        let whole = cell.parse::<u64>().ok();
        match column {
            Column::Bytes => self.bytes = whole,
            Column::Repetitions => self.repetitions = whole,
            Column::Min => self.t_min = float.map(|t| t / 1e6),
            Column::Max => self.t_max = float.map(|t| t / 1e6),
            Column::Avg => self.t_avg = float.map(|t| t / 1e6),
            Column::Rate => self.rate = float.map(|r| r * mbyte as f64),
            Column::Messages => self.messages = float,
            Column::Other => {}
        }
        match column {
            Column::Bytes | Column::Repetitions => whole.is_some(),
            _ => float.is_some(),
        }
    }
}
