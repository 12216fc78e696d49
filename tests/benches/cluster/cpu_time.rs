//! The CPU time of the processes of the cluster, from `/proc`.

use std::collections::BTreeMap;
use std::fs;

/// Ticks a second in `/proc/<pid>/stat`: hundredths of a second on Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// CPU seconds since the start of each process, user and system together, by its name.
pub(crate) struct CpuTime(BTreeMap<String, f64>);

impl CpuTime {
    /// The CPU time of this process and of its children until this moment.
    pub(crate) fn now() -> Self {
        let own = std::process::id();
        let mut cpu = BTreeMap::new();
        for entry in fs::read_dir("/proc").expect("/proc is readable").flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
            // The process may have exited.
            let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
            let Some((_, fields)) = stat.rsplit_once(") ") else { continue };
            let fields: Vec<&str> = fields.split(' ').collect();
            let number = |at: usize| fields.get(at).and_then(|field| field.parse::<u32>().ok()).unwrap_or(0);
            if pid == own || number(1) == own {
                *cpu.entry(name(pid, own)).or_default() += f64::from(number(11) + number(12)) / TICKS_PER_SECOND;
            }
        }
        Self(cpu)
    }

    /// The CPU microseconds since `before` of each process for each of `count` requests, the largest first.
    pub(crate) fn since(&self, before: &Self, count: u64) -> Vec<(&str, f64)> {
        let spent = |name: &String| self.0[name] - before.0.get(name).copied().unwrap_or(0.0);
        let each = self.0.keys().map(|name| (name.as_str(), spent(name) * 1e6 / count as f64));
        let mut each: Vec<(&str, f64)> = each.filter(|(_, spent)| *spent > 0.0).collect();
        each.sort_by(|a, b| b.1.total_cmp(&a.1));
        each
    }
}

/// A process of the program by its role, a server by its program, this process as `client`.
fn name(pid: u32, own: u32) -> String {
    if pid == own {
        return "client".into();
    }
    let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    // The title of a Redis process has its address after a space.
    let mut words = line.split(['\0', ' ']).map(|word| word.rsplit('/').next().unwrap_or(word));
    let (program, first) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if program == "gailou" { first.to_owned() } else { program.to_owned() }
}
