//! Makes responses comparable with stored snapshots: what differs from run to run becomes a placeholder.

use std::collections::BTreeMap;

use serde_json::Value;

/// The least number of digits of an id.
const MIN_ID_DIGITS: usize = 16;
/// The number of digits of a time in Unix milliseconds.
const TIME_DIGITS: usize = 13;
/// A date and the time after it, with every digit as 0.
const DATE_SHAPE: &str = "0000-00-00";
const TIME_SHAPE: &str = "T00:00:00Z";
/// Fields whose values are opaque or count writes.
const OPAQUE_FIELDS: [&str; 6] = ["cursor", "epoch", "next", "token", "trace_id", "version"];

/// The JSON, indented, with placeholders; see [`redact`].
pub fn redact_json(value: &Value) -> String {
    let mut value = value.clone();
    redact_opaque_fields(&mut value);
    redact(&serde_json::to_string_pretty(&value).expect("JSON is printable"))
}

/// The HTML with a line for each tag, without style sheets, and with placeholders; see [`redact`].
pub fn redact_html(html: &str) -> String {
    let mut redacted = String::new();
    for (n, part) in html.split("<style>").enumerate() {
        let visible = if n == 0 { part } else { part.split_once("</style>").map_or("", |(_, after)| after) };
        redacted.push_str(visible);
    }
    redact(&redacted.replace("><", ">\n<"))
}

/// The text with `[id 1]`, `[id 2]` … in place of ids, in the order of their first occurrence, and with
/// `[time]` and `[date]` in place of times.
pub fn redact(text: &str) -> String {
    let mut ids = BTreeMap::new();
    let text = redact_dates(text);
    let mut redacted = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from_digits) = rest.split_at(start);
        let end = from_digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(from_digits.len());
        let (digits, after) = from_digits.split_at(end);
        redacted.push_str(before);
        match digits.len() {
            MIN_ID_DIGITS.. => {
                let next = ids.len() + 1;
                redacted.push_str(&format!("[id {}]", ids.entry(digits).or_insert(next)));
            }
            TIME_DIGITS => redacted.push_str("[time]"),
            _ => redacted.push_str(digits),
        }
        rest = after;
    }
    redacted + rest
}

/// Replaces `2026-01-31`, with or without a time `T12:34:56Z` after it.
fn redact_dates(text: &str) -> String {
    let shape = |c: char| if c.is_ascii_digit() { '0' } else { c };
    let shapes: Vec<(usize, char)> = text.char_indices().map(|(at, c)| (at, shape(c))).collect();
    let (mut redacted, mut end_of_last) = (String::with_capacity(text.len()), 0);
    for window in shapes.windows(DATE_SHAPE.len()) {
        let start = window[0].0;
        if start < end_of_last || !window.iter().map(|(_, c)| *c).eq(DATE_SHAPE.chars()) {
            continue;
        }
        redacted.push_str(&text[end_of_last..start]);
        redacted.push_str("[date]");
        end_of_last = start + DATE_SHAPE.len();
        let time: String = text[end_of_last..].chars().take(TIME_SHAPE.len()).map(shape).collect();
        end_of_last += if time == TIME_SHAPE { TIME_SHAPE.len() } else { 0 };
    }
    redacted + &text[end_of_last..]
}

fn redact_opaque_fields(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if OPAQUE_FIELDS.contains(&name.as_str()) && value.is_string() {
                    *value = Value::String(format!("[{name}]"));
                } else {
                    redact_opaque_fields(value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(redact_opaque_fields),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ids_times_dates_styles_and_opaque_fields_are_replaced() {
        let (first, second) = ("3559420109847953452", "3559420109847482424");
        let text = format!("{first} {second} {first} 1700000000000 1700000 2^53");
        assert_eq!(redact(&text), "[id 1] [id 2] [id 1] [time] 1700000 2^53");
        assert_eq!(redact("楼 2026-01-31T12:34:56Z, 2026-01-31: 5-6"), "楼 [date], [date]: 5-6");
        assert_eq!(redact_html("<p><style>a { }</style><b>x</b></p>"), "<p>\n<b>x</b>\n</p>");
        let page = json!({"page": {"next": "AbC", "epoch": "7"}, "data": [{"id": first, "floor": 1}]});
        let redacted: Value = serde_json::from_str(&redact_json(&page)).expect("JSON");
        let expected = json!({"page": {"next": "[next]", "epoch": "[epoch]"}, "data": [{"id": "[id 1]", "floor": 1}]});
        assert_eq!(redacted, expected);
    }
}
