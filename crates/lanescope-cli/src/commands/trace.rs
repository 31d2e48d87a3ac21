//! A time line of a simulation, on its way into a file for Perfetto.

use lanescope::pens::timeline;
use lanescope::sim::Run;
use lanescope::units::digits;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

/// A recording, and the file that it goes to when the run is over.
pub(super) struct Recording {
    file: File,
    name: String,
    most: u32,
}

impl Recording {
    /// Makes the file, and begins to record a run that has not begun.
    pub(super) fn create(path: &Path, most: u32, run: &mut Run) -> Result<Recording, String> {
        let name = path.display().to_string();
        let file = File::create(path).map_err(|e| format!("{name}: {e}"))?;
        run.record(most as usize);
        Ok(Recording { file, name, most })
    }

    /// Writes what there is.
    pub(super) fn finish(self, run: &mut Run) -> Result<(), String> {
        let Some(line) = run.timeline() else { return Ok(()) };
        timeline::write(&line, BufWriter::new(self.file)).map_err(|e| format!("{}: {e}", self.name))?;
        crate::output::say!("wrote {}, {} events: open it at ui.perfetto.dev", self.name, line.len());
        if line.dropped() > 0 {
            let until = line.slices().iter().map(|s| s.begin).max().unwrap_or(0);
            crate::output::say!(
                "note: it ends at about {} us: {} later events are beyond --trace-events {}",
                digits(until as f64 / 1e9),
                line.dropped(),
                self.most
            );
        }
        Ok(())
    }
}
