//! A job array for SLURM: one task a shard, all into one folder.

/// A text between quotes that a shell takes as it is.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// The script: `sbatch` takes it. Each of `tasks` runs the same command with its own `--shard`; what was killed goes on
/// when it is submitted again.
pub fn script(program: &str, arguments: &[String], tasks: u32) -> String {
    let command: Vec<String> =
        std::iter::once(program).chain(arguments.iter().map(String::as_str)).map(quoted).collect();
    format!(
        "#!/bin/bash\n\
         #SBATCH --job-name=lanescope\n\
         #SBATCH --array=1-{tasks}\n\
         #SBATCH --cpus-per-task=1\n\
         # Submitted again after a failure, every task continues where it stopped.\n\
         set -euo pipefail\n\
         exec {} --threads \"${{SLURM_CPUS_PER_TASK:-1}}\" --shard \"${{SLURM_ARRAY_TASK_ID}}/{tasks}\"\n",
        command.join(" ")
    )
}
