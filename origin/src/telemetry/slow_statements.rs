//! Statements that took long: each is counted, and a few of a minute are logged, by their text without any value.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use metrics::counter;
use parking_lot::Mutex;

use crate::telemetry::{SLOW_STATEMENTS, install};

/// Lines of a minute. What lasts is in the metric.
const MAX_LINES: u32 = 10;
const LINES_PERIOD: Duration = Duration::from_secs(60);
/// Longest statement in a line.
const MAX_SHAPE_BYTES: usize = 1_000;

/// From how many milliseconds on a statement is slow.
static SLOW_MS: AtomicU64 = AtomicU64::new(1_000);
/// Since when lines are counted, and how many there were. A mutex that is held for a count, never across an await.
static LOGGED_LINES: Mutex<Option<(Instant, u32)>> = Mutex::new(None);

/// Statements that take so long or longer are slow.
pub fn set_slow(slow: Duration) {
    SLOW_MS.store(slow.as_millis() as u64, Ordering::Relaxed);
}

/// Notes that a statement of this database (`sqlite`, or the address of a server) has run for so long.
pub fn note_statement(dependency: &'static str, database: &str, duration: Duration, text: impl FnOnce() -> String) {
    let duration_ms = duration.as_millis() as u64;
    if duration_ms < SLOW_MS.load(Ordering::Relaxed) {
        return;
    }
    install();
    counter!(SLOW_STATEMENTS, "dependency" => dependency).increment(1);
    if may_log(&mut LOGGED_LINES.lock(), Instant::now()) {
        let statement = shape(&text());
        tracing::warn!(
            database,
            duration_ms,
            statement,
            "A statement of {database} took {duration_ms} ms: {statement}"
        );
    }
}

fn may_log(lines: &mut Option<(Instant, u32)>, now: Instant) -> bool {
    let (_, count) = match lines {
        Some(current) if now.saturating_duration_since(current.0) < LINES_PERIOD => current,
        _ => lines.insert((now, 0)),
    };
    *count += 1;
    *count <= MAX_LINES
}

/// The text of a statement with `?` for each number and each quoted text, and one for a list of them.
fn shape(text: &str) -> String {
    let (mut shape, mut rest) = (String::new(), text.trim_start());
    while let Some(first) = rest.chars().next().filter(|_| shape.len() < MAX_SHAPE_BYTES) {
        let length = match first {
            '\'' | '"' => quoted_length(rest, first),
            '0'..='9' => word_length(rest),
            // A name; what begins a text in another notation (x'…', _utf8mb4 …) stays.
            _ if is_word(first) => {
                let word = word_length(rest);
                shape.push_str(&rest[..word]);
                rest = &rest[word..];
                continue;
            }
            _ => {
                push_other(&mut shape, first);
                rest = &rest[first.len_utf8()..];
                continue;
            }
        };
        if !(is_in_list(&shape) || shape.ends_with('?')) {
            shape.push('?');
        }
        rest = &rest[length..];
    }
    let end = if rest.is_empty() { "" } else { " …" };
    format!("{}{end}", shape.trim_end_matches([',', ' ']))
}

/// Whether a value is there, and others may follow.
fn is_in_list(shape: &str) -> bool {
    shape.trim_end().ends_with("?,")
}

fn push_other(shape: &mut String, other: char) {
    match other {
        other if other.is_whitespace() => {
            if !shape.ends_with(' ') {
                shape.push(' ');
            }
        }
        ',' if is_in_list(shape) => {}
        // The end of a list that one `?` stands for.
        ')' if is_in_list(shape) => {
            shape.truncate(shape.trim_end().trim_end_matches(',').len());
            shape.push(')');
        }
        other => shape.push(other),
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '`' | '@' | '$')
}

/// How long a name or a number is, such as `1.5` or `0xff`.
fn word_length(text: &str) -> usize {
    text.find(|c| !(is_word(c) || c == '.')).unwrap_or(text.len())
}

/// How long a quoted text is, with its quotes; a doubled or escaped quote does not end it.
fn quoted_length(text: &str, quote: char) -> usize {
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = characters.next() {
        if c == '\\' {
            characters.next();
        } else if c == quote && characters.next_if(|(_, next)| *next == quote).is_none() {
            return at + quote.len_utf8();
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statement_is_shown_without_its_values() {
        let check = |text: &str, expected: &str| assert_eq!(shape(text), expected, "{text}");
        check("SELECT a FROM comment_12 WHERE id = 17 AND b = ?1", "SELECT a FROM comment_12 WHERE id = ? AND b = ?");
        check("SELECT 'it''s', 'a\\'b', x'00ff', 1.5, 0xff", "SELECT ?, x?");
        check("DELETE  FROM\n  t WHERE id IN (1, 2, 3) LIMIT 5", "DELETE FROM t WHERE id IN (?) LIMIT ?");
        check("INSERT INTO t VALUES (1, _utf8mb4 0x61, 'b')", "INSERT INTO t VALUES (?, _utf8mb4 ?)");
        check("SELECT 1, 2, b, 3 FROM t", "SELECT ?, b, ? FROM t");
        check("SELECT 'not closed", "SELECT ?");
        check("SELECT `from`.`1st` FROM t", "SELECT `from`.`1st` FROM t");
        check("SELECT \"a\u{e9}\"", "SELECT ?");
        let long = shape(&format!("SELECT {}", "a + ".repeat(1_000)));
        assert!(long.len() < MAX_SHAPE_BYTES + 20 && long.ends_with(" …"), "{long}");
    }

    #[test]
    fn lines_of_a_minute_are_bounded() {
        let (mut lines, began) = (None, Instant::now());
        let logged = |lines: &mut Option<(Instant, u32)>, now| (0..50).filter(|_| may_log(lines, now)).count();
        assert_eq!(logged(&mut lines, began), MAX_LINES as usize);
        assert_eq!(logged(&mut lines, began + LINES_PERIOD / 2), 0);
        assert_eq!(logged(&mut lines, began + LINES_PERIOD), MAX_LINES as usize);
    }
}
