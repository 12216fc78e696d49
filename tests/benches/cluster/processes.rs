//! What the processes of the stand cost, read from `/proc`.

use std::collections::BTreeMap;
use std::fs;

/// Linux counts processor time in hundredths of a second here, whatever its own clock.
const TICKS: f64 = 100.0;

/// Processor seconds by process, user and system together, since each began.
pub(crate) struct Spent(BTreeMap<String, f64>);

impl Spent {
    /// Of this process and of all it has started.
    pub(crate) fn now() -> Self {
        let own = std::process::id();
        let mut spent = BTreeMap::new();
        for entry in fs::read_dir("/proc").expect("Linux has it").flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
            // It may have ended by now.
            let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
            let Some((_, fields)) = stat.rsplit_once(") ") else { continue };
            let fields: Vec<&str> = fields.split(' ').collect();
            let number = |at: usize| fields.get(at).and_then(|field| field.parse::<u32>().ok()).unwrap_or(0);
            if pid == own || number(1) == own {
                *spent.entry(name(pid, own)).or_default() += f64::from(number(11) + number(12)) / TICKS;
            }
        }
        Self(spent)
    }

    /// What was spent since `before` on each of so many thousands: `serve 0.12, job 0.03`, with the
    /// number of processors that were busy all in all.
    pub(crate) fn since(&self, before: &Self, thousands: f64, seconds: f64) -> String {
        let of = |name: &str| self.0[name] - before.0.get(name).copied().unwrap_or(0.0);
        let all: f64 = self.0.keys().map(|name| of(name)).sum();
        let mut each: Vec<(&String, f64)> = self.0.keys().map(|name| (name, of(name))).collect();
        each.retain(|(_, spent)| *spent > 0.0);
        each.sort_by(|a, b| b.1.total_cmp(&a.1));
        let each: Vec<String> = each.iter().map(|(name, spent)| format!("{name} {:.3}", spent / thousands)).collect();
        format!("{} ({:.2} processors busy)", each.join(", "), all / seconds)
    }
}

/// `serve` and `job` by their role, servers by their program, this process as the client.
fn name(pid: u32, own: u32) -> String {
    if pid == own {
        return "client".into();
    }
    let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    // Redis calls itself by its address as well, in one word.
    let mut words = line.split(['\0', ' ']).map(|word| word.rsplit('/').next().unwrap_or(word));
    let (program, first) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if program == "gailou" { first.to_owned() } else { program.to_owned() }
}
