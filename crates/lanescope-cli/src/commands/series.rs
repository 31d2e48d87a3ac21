//! A time series on its way into a CSV file.

use lanescope::pens::series::Series as Columns;
use lanescope::plan::Plan;
use lanescope::result::Report;
use lanescope::sim::Sample;
use std::fs::File;
use std::path::Path;

/// Rows of a time series at most.
const MOST_ROWS: u64 = 100_000;
/// Cells of one at most: some hundred megabytes, however many wires there are.
const MOST_CELLS: u64 = 50_000_000;

/// The file, and the rows of it so far.
pub(super) struct Series {
    file: csv::Writer<File>,
    name: String,
    columns: Columns,
    rows: u64,
    most: u64,
}

impl Series {
    /// Begins a file; `estimate` says which wires carry anything.
    pub(super) fn create(path: &Path, plan: &Plan, estimate: &Report, now: Sample) -> Result<Series, String> {
        let name = path.display().to_string();
        let file = File::create(path).map_err(|e| format!("{name}: {e}"))?;
        let columns = Columns::new(plan, estimate, now);
        let most = (MOST_CELLS / columns.head.len() as u64).min(MOST_ROWS);
        let mut series = Series { file: csv::Writer::from_writer(file), name, columns, rows: 0, most };
        let head = series.columns.head.clone();
        series.line(&head)?;
        Ok(series)
    }

    fn line(&mut self, cells: &[String]) -> Result<(), String> {
        self.file.write_record(cells).map_err(|e| format!("{}: {e}", self.name))
    }

    /// Writes a row; says whether there is room for more.
    pub(super) fn row(&mut self, now: Sample) -> Result<bool, String> {
        self.rows += 1;
        let cells = self.columns.row(now);
        self.line(&cells)?;
        if self.rows == self.most {
            crate::output::say!("note: {} ends after {} rows", self.name, self.most);
        }
        Ok(self.rows < self.most)
    }

    pub(super) fn finish(mut self) -> Result<(), String> {
        self.file.flush().map_err(|e| format!("{}: {e}", self.name))?;
        crate::output::say!("wrote {}, {} rows", self.name, self.rows);
        Ok(())
    }
}
