//! The tables of `docs/limits.md` have a row for each error, bound and rate of the code, with its value.

use std::collections::BTreeMap;

use gailou::config::Config;

use super::read;

/// The rows between the marks `<!-- NAME: begin -->` and `<!-- NAME: end -->`, each as its cells.
fn rows(name: &str) -> Vec<Vec<String>> {
    let document = read("docs/limits.md");
    let (_, rest) = document.split_once(&format!("<!-- {name}: begin -->")).expect("the mark of the begin");
    let (table, _) = rest.split_once(&format!("<!-- {name}: end -->")).expect("the mark of the end");
    let rows = table.lines().filter_map(|line| line.trim().strip_prefix("| ")?.strip_suffix(" |"));
    // Without the head; the line below it has no space after its bar.
    let rows = rows.skip(1).map(|row| row.split(" | ").map(|cell| cell.trim_matches('`').to_owned()).collect());
    rows.collect()
}

fn assert_rows(name: &str, expected: &[String]) {
    let found: Vec<_> = rows(name).iter().map(|cells| cells.join(" | ")).collect();
    assert!(found == expected, "docs/limits.md, {name}, should have these rows:\n{}", expected.join("\n"));
}

#[test]
fn every_error_code_has_a_row_with_its_status_and_meaning() {
    let code = read("shared/src/wire/problem.rs");
    let arms = code.lines().filter_map(|line| line.trim().strip_prefix("Self::")?.split_once(" => (\""));
    let expected: Vec<_> = arms
        .map(|(_, parts)| {
            let (code, rest) = parts.split_once("\", ").expect("a code and a status");
            (rest[..3].to_owned(), code.to_owned())
        })
        .collect();
    assert!(expected.len() > 20, "{expected:?}");
    let table = rows("errors");
    let found: Vec<_> = table.iter().map(|cells| (cells[0].clone(), cells[1].clone())).collect();
    assert_eq!(found, expected, "docs/limits.md");
    assert!(table.iter().all(|cells| cells.len() == 3 && !cells[2].is_empty()), "{table:?}");
}

/// The value of a constant's expression: numbers and earlier constants, multiplied and divided from left to right.
fn value(expression: &str, known: &BTreeMap<String, u64>) -> u64 {
    let mut parts = expression.split(' ');
    let number = |text: &str| text.replace('_', "").parse().ok().or_else(|| known.get(text).copied());
    let number = |text: &str| number(text).unwrap_or_else(|| panic!("{text} in {expression} is no number"));
    let mut value = number(parts.next().expect("a number"));
    while let (Some(operator), Some(right)) = (parts.next(), parts.next()) {
        value = match operator {
            "*" => value * number(right),
            "/" => value / number(right),
            other => panic!("{other} in {expression} is no operator"),
        };
    }
    value
}

#[test]
fn every_bound_of_the_contract_has_a_row() {
    let (mut known, mut expected, mut meaning) = (BTreeMap::new(), Vec::new(), String::new());
    for line in read("shared/src/limits.rs").lines() {
        if let Some(text) = line.strip_prefix("/// ") {
            meaning.push_str(text);
            meaning.push(' ');
        } else if let Some(rest) = line.strip_prefix("pub const ") {
            let (name, rest) = rest.split_once(':').expect("a type");
            let expression = rest.split_once("= ").expect("a value").1.trim_end_matches(';');
            let value = value(expression, &known);
            known.insert(name.to_owned(), value);
            expected.push(format!("{name} | {value} | {}", std::mem::take(&mut meaning).trim()));
        }
    }
    assert_rows("bounds", &expected);
}

#[test]
fn every_rate_has_a_row_with_its_setting() {
    let defaults = serde_json::to_value(&Config::default().adjustable.limits).expect("settings are JSON");
    let code = read("origin/src/state/rate_limits.rs");
    let expected: Vec<_> = code
        .split("limit(\"")
        .skip(1)
        .map(|call| {
            let (name, rest) = call.split_once("\", settings.").expect("a setting");
            let (setting, rest) = rest.split_once(", ").expect("a window");
            let window = match rest.split(')').next() {
                Some("ONE_SECOND") => "second",
                Some("ONE_MINUTE") => "minute",
                Some("ONE_HOUR") => "hour",
                other => panic!("{other:?} is no window"),
            };
            format!("{name} | {} in a {window} | limits.{setting}", defaults[setting])
        })
        .map(|row| row.replace(" in a hour", " in an hour"))
        .collect();
    assert!(expected.len() > 10, "{expected:?}");
    assert_rows("rates", &expected);
}
