//! The word filter from outside: tables of what it finds, laws it keeps.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use gailou_shared::word_filter::{
    Dictionary, DictionaryError, FilterVerdict, InvalidTerm, InvalidTsvLine, MAX_TERMS, Term, TermAction, parse_tsv,
};
use proptest::prelude::*;

fn term(term: &str, category: &str, action: TermAction) -> Term {
    Term { term: term.into(), category: category.into(), action }
}

fn masking(terms: &[&str]) -> Dictionary {
    let terms: Vec<Term> = terms.iter().map(|t| term(t, "x", TermAction::Mask)).collect();
    Dictionary::build(1, &terms).unwrap()
}

/// What a reader sees if every term is masked.
fn masked(words: &Dictionary, text: &str) -> String {
    match words.check(text) {
        FilterVerdict::Pass => text.into(),
        FilterVerdict::Mask { text, .. } => text,
        other => panic!("{text:?}: {other:?}"),
    }
}

/// Each row: terms, text, expected text.
fn check(rows: &[(&[&str], &str, &str)]) {
    for (terms, text, expected) in rows {
        assert_eq!(masked(&masking(terms), text), *expected, "{terms:?} in {text:?}");
    }
}

#[test]
fn characters_are_compared_folded() {
    check(&[
        (&["qq"], "加ＱＱ", "加**"),
        (&["ＱＱ群"], "qq群号", "***号"),
        (&["阴户"], "陰戶", "**"),
        (&["陰戶"], "阴户", "**"),
        (&["ΣΟΦΟΣ"], "σοφος", "*****"),
        (&["兼职"], "全职", "全职"),
        (&["屄"], "a屄b", "a*b"),
    ]);
}

#[test]
fn invisible_characters_are_not_there() {
    check(&[
        (&["赌博"], "赌\u{200b}博", "***"),
        (&["赌博"], "\u{feff}赌\u{ad}\u{200d}\u{fe0f}博\u{202e}", "\u{feff}*****\u{202e}"),
        (&["赌\u{200b}博"], "赌博", "**"),
        (&["porn"], "p\u{301}o\u{200c}rn\u{301}", "*******"),
        (&["js"], "js\u{200b}on", "js\u{200b}on"),
    ]);
}

#[test]
fn gaps_beside_dense_characters_are_noise() {
    check(&[
        (&["赌博"], "赌 博、赌*博、赌_-.·|　博", "***、***、********"),
        (&["赌博"], "爱赌。博爱，赌\n博", "爱赌。博爱，赌\n博"),
        (&["法轮功"], "法，轮，功", "*****"),
        (&["法轮功"], "法\n轮\n功", "*****"),
        (&["法轮功"], "法，轮功", "法，轮功"),
        (&["出售手枪 QQ", "气枪/猎枪"], "出售手枪QQ 气枪猎枪", "****** ****"),
        (&["出售:枪"], "出售：枪，出售枪，出售\n枪", "****，***，****"),
        (&["卖qb"], "卖 QB 吗", "**** 吗"),
    ]);
}

#[test]
fn gaps_between_word_characters_break() {
    check(&[
        (&["assi", "passi"], "pass it", "pass it"),
        (&["hot sex"], "hot  sex hotsex", "******** hotsex"),
        (&["porn"], "po*rn p·o·r·n p o r n po-rn", "***** ******* ******* po-rn"),
        (&["porn"], "xp o r n, p o r nx, 看p o r n吧 I p o r n", "xp o r n, p o r nx, 看*******吧 I *******"),
        (&["porn"], "po*r*n p*o*r*nx", "****** p*o*r*nx"),
        (&["a4u"], "a 4 u a4 u", "***** a4 u"),
        (&["hot sex"], "hot*sex * po*rn", "******* * po*rn"),
        (&["3p"], "3*p 3 p 3P", "3*p 3 p **"),
        (&["C++"], "C C+ C++ c ++!", "C C+ *** ****!"),
        (&["#tag"], "tag #tag", "tag ****"),
    ]);
}

#[test]
fn addresses_match_as_written_and_with_noise() {
    let words = masking(&["www.x.com", "a-b.cn/c"]);
    for text in ["www.x.com", "ＷＷＷ．Ｘ．ＣＯＭ", "www . x . com", "www。x·com", "a-b.cn/c", "Ａ—b . cn ／ c"]
    {
        assert_eq!(masked(&words, &format!("看{text}吧")), format!("看{}吧", "*".repeat(text.chars().count())));
    }
    for text in [
        "wwwxcom",
        "www x com",
        "w w w . x . c o m",
        "www.x.\ncom",
        "www.x.community",
        "awww.x.com",
        "ab.cn/c",
        "a.b-cn/c",
    ] {
        assert_eq!(words.check(text), FilterVerdict::Pass, "{text}");
    }
    assert_eq!(masked(&words, "http://www.x.com/y?z"), "http://*********/y?z");
}

#[test]
fn short_words_match_between_edges() {
    check(&[
        (&["JS"], "JSON 用JS写 js, JS-1 node.js njs js2 js_x", "JSON 用**写 **, **-1 node.** njs js2 **_x"),
        (&["anal"], "analysis canal anal", "analysis canal ****"),
        (&["incest"], "incestuous", "******uous"),
        (&["da案"], "panda案 da案", "panda案 ***"),
        (&["64"], "1964年 64年", "1964年 **年"),
        (&["QQ"], "❤QQ❤ ⓠqq", "❤**❤ ⓠqq"),
    ]);
}

#[test]
fn whole_graphemes_are_masked() {
    check(&[
        (&["🔞"], "看🔞片", "看*片"),
        (&["👩"], "a👨\u{200d}👩\u{200d}👧b", "a*****b"),
        (&["👍"], "👍🏽", "**"),
        (&["赌博"], "赌❤\u{fe0f}博", "****"),
        (&["买💊"], "买 💊 买", "*** 买"),
        (&["❤"], "I ❤\u{fe0f} U", "I ** U"),
    ]);
}

#[test]
fn masking_repeats_until_nothing_is_left() {
    check(&[(&["日本", "黄片"], "日黄片本", "****"), (&["fucking", "js"], "fuckingjs", "*********")]);
    let nested = format!("{}黄片{}", "日".repeat(9), "本".repeat(9));
    let words = masking(&["日本", "黄片"]);
    assert_eq!(words.check(&nested), FilterVerdict::Review { categories: vec!["x".into()] });
}

#[test]
fn the_most_severe_action_decides_and_every_category_counts() {
    let words = Dictionary::build(
        3,
        &[
            term("黄片", "porn", TermAction::Mask),
            term("片子", "film", TermAction::Review),
            term("子弹", "weapon", TermAction::Block),
            term("黄片", "ad", TermAction::Mask),
            term("黄 片", "ad", TermAction::Mask),
            term("黃片", "late", TermAction::Mask),
            term("看黄片", "a", TermAction::Mask),
        ],
    )
    .unwrap();
    assert_eq!((words.version(), words.len(), words.is_empty()), (3, 6, false));
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    for (text, expected) in [
        ("片", FilterVerdict::Pass),
        ("黄片", FilterVerdict::Mask { text: "**".into(), categories: names(&["ad", "late", "porn"]) }),
        ("黄片子", FilterVerdict::Review { categories: names(&["ad", "film", "late", "porn"]) }),
        ("子弹，黄片", FilterVerdict::Block { categories: names(&["ad", "late", "porn", "weapon"]) }),
        ("看黄片子弹", FilterVerdict::Block { categories: names(&["a", "ad", "film", "late", "porn", "weapon"]) }),
    ] {
        assert_eq!(words.check(text), expected, "{text}");
        let blocked = match expected {
            FilterVerdict::Block { categories } => Some(categories),
            _ => None,
        };
        assert_eq!(words.find_blocked(text), blocked, "{text}");
    }
}

#[test]
fn of_equal_terms_the_most_severe_wins() {
    for actions in [[TermAction::Mask, TermAction::Block], [TermAction::Block, TermAction::Mask]] {
        let words = Dictionary::build(1, &actions.map(|a| term("赌博", "x", a))).unwrap();
        assert_eq!(words.len(), 1);
        assert_eq!(words.check("賭博"), FilterVerdict::Block { categories: vec!["x".into()] });
    }
}

#[test]
fn terms_that_cannot_be_taken_are_named() {
    let good = term("赌博", "x", TermAction::Mask);
    for (bad, reason) in [
        (term("", "x", TermAction::Mask), InvalidTerm::Nothing),
        (term(" \u{200b}*", "x", TermAction::Mask), InvalidTerm::Nothing),
        (term(&"a".repeat(257), "x", TermAction::Mask), InvalidTerm::TooLong),
        (term("a", "", TermAction::Mask), InvalidTerm::Category),
        (term("a", &"c".repeat(65), TermAction::Mask), InvalidTerm::Category),
    ] {
        let error = Dictionary::build(1, &[good.clone(), bad]).unwrap_err();
        assert_eq!(error, DictionaryError::Term { index: 1, reason });
    }
    let many = vec![good; MAX_TERMS + 1];
    assert_eq!(Dictionary::build(1, &many).unwrap_err(), DictionaryError::TooMany(MAX_TERMS + 1));
    let large = vec![term(&"a".repeat(256), "x", TermAction::Mask); 16_385];
    assert_eq!(Dictionary::build(1, &large).unwrap_err(), DictionaryError::TooLarge(16_385 * 256));
}

#[test]
fn the_longest_terms_are_found() {
    let text = "ab.".repeat(85);
    let words = masking(&[&text, &"长".repeat(85)]);
    assert_eq!(masked(&words, &text), "*".repeat(255));
    assert_eq!(masked(&words, &"长".repeat(86)), "*".repeat(86));
}

#[test]
fn an_empty_dictionary_passes_everything() {
    for words in [Dictionary::empty(), Dictionary::build(0, &[]).unwrap(), Dictionary::default()] {
        assert_eq!((words.version(), words.len(), words.is_empty()), (0, 0, true));
        assert_eq!(words.check("赌博"), FilterVerdict::Pass);
    }
}

#[test]
fn tsv_rows() {
    let text =
        "\u{feff}# term\tcategory\r\n赌博\tad\r\n\r\n  \n#\n#topic\tad\tblock\n hot sex \t porn \tmask \nx\ty\t\n";
    assert_eq!(
        parse_tsv(text, TermAction::Review).unwrap(),
        [
            term("赌博", "ad", TermAction::Review),
            term("#topic", "ad", TermAction::Block),
            term("hot sex", "porn", TermAction::Mask),
            term("x", "y", TermAction::Review),
        ]
    );
    for (text, line, reason) in [
        ("赌博", 1, InvalidTsvLine::Fields),
        ("a\tb\n\na\tb\tmask\td", 3, InvalidTsvLine::Fields),
        ("# c\n\tb", 2, InvalidTsvLine::Term),
        ("a\t \n", 1, InvalidTsvLine::Category),
        ("a\tb\tMASK", 1, InvalidTsvLine::Action),
    ] {
        let error = parse_tsv(text, TermAction::Mask).unwrap_err();
        assert_eq!((error.line, error.reason), (line, reason), "{text:?}");
    }
}

#[test]
fn actions_are_lower_case_and_ordered() {
    assert_eq!(serde_json::to_string(&TermAction::Review).unwrap(), "\"review\"");
    let read: Term = serde_json::from_str(r#"{"term":"a","category":"b","action":"block"}"#).unwrap();
    assert_eq!(read, term("a", "b", TermAction::Block));
    assert!(TermAction::Mask < TermAction::Review && TermAction::Review < TermAction::Block);
}

#[test]
fn every_term_of_a_list_is_found_within_text_and_in_capitals() {
    // A large list where there is one, else the small one of the repository.
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let beside = || package.join("../../shared/data");
    let large = std::env::var_os("GAILOU_TEST_DATA").map_or_else(beside, PathBuf::from).join("words.tsv");
    let path = if large.is_file() { large } else { package.join("../tests/data/terms.tsv") };
    // Directly to the stream: the harness captures `println!` and shows it only after a failure.
    writeln!(std::io::stdout(), "terms: {}", path.display()).unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let block = |term: Term| Term { action: TermAction::Block, ..term };
    let terms: Vec<Term> = parse_tsv(&text, TermAction::Block).unwrap().into_iter().map(block).collect();
    let words = Dictionary::build(1, &terms).unwrap();
    assert!(words.heap_bytes() < 10_000_000, "{} bytes", words.heap_bytes());
    for t in &terms {
        for text in [t.term.clone(), format!("看{}吧", t.term), t.term.to_uppercase()] {
            assert!(matches!(words.check(&text), FilterVerdict::Block { .. }), "{text}");
        }
    }
}

/// Few characters of every class, so that matches, gaps and overlaps are frequent.
fn text() -> impl Strategy<Value = String> {
    let c = prop_oneof![
        4 => prop::sample::select("赌博賭日本片黄QqJjSsporn3".chars().collect::<Vec<_>>()),
        2 => prop::sample::select(" .*_-|·，。\n　Ｑ．❤🔞👨👩".chars().collect::<Vec<_>>()),
        1 => prop::sample::select("\u{200b}\u{200d}\u{fe0f}\u{301}\u{ad}".chars().collect::<Vec<_>>()),
    ];
    prop::collection::vec(c, 0..40).prop_map(|c| c.into_iter().collect())
}

const LAW_TERMS: [&str; 10] = ["赌博", "日本", "黄片", "本片子", "qq", "js", "porn", "q.q", "🔞", "博 Q"];

proptest! {
    #[test]
    fn any_text_gets_a_verdict(text in ".*", terms in prop::collection::vec(".{1,8}", 0..6)) {
        let terms: Vec<Term> = terms.iter().map(|t| term(t, "x", TermAction::Mask)).collect();
        if let Ok(words) = Dictionary::build(1, &terms) {
            let _ = words.check(&text);
            for t in &terms {
                prop_assert_ne!(words.check(&t.term), FilterVerdict::Pass, "{:?}", t.term);
            }
        }
    }

    #[test]
    fn any_text_is_a_list_or_an_error(text in ".*(\t.*){0,3}(\n.*(\t.*){0,3}){0,3}") {
        let _ = parse_tsv(&text, TermAction::Mask);
    }

    #[test]
    fn masking_changes_matched_characters_only_and_leaves_nothing_to_mask(text in text()) {
        let words = masking(&LAW_TERMS);
        if let FilterVerdict::Mask { text: out, .. } = words.check(&text) {
            prop_assert_eq!(out.chars().count(), text.chars().count());
            prop_assert!(out.chars().zip(text.chars()).all(|(o, c)| o == c || o == '*'));
            prop_assert_ne!(&out, &text);
            prop_assert_eq!(words.check(&out), FilterVerdict::Pass, "{}", out);
        }
    }

    #[test]
    fn what_is_blocked_in_one_pass_is_blocked(text in text(), actions in prop::collection::vec(0usize..3, LAW_TERMS.len())) {
        let action = |n: usize| [TermAction::Mask, TermAction::Review, TermAction::Block][n];
        let terms: Vec<Term> = LAW_TERMS.iter().zip(actions).map(|(t, n)| term(t, "x", action(n))).collect();
        let words = Dictionary::build(1, &terms).unwrap();
        if let Some(categories) = words.find_blocked(&text) {
            prop_assert_eq!(words.check(&text), FilterVerdict::Block { categories });
        }
    }

    #[test]
    fn zero_width_characters_never_evade(text in text(), places in prop::collection::vec((0usize..60, 0usize..4), 1..9)) {
        let terms = LAW_TERMS.map(|t| term(t, "x", TermAction::Review));
        let words = Dictionary::build(1, &terms).unwrap();
        let mut noisy: Vec<char> = text.chars().collect();
        for (place, which) in places {
            let at = place % (noisy.len() + 1);
            noisy.insert(at, ['\u{200b}', '\u{200d}', '\u{feff}', '\u{2066}'][which]);
        }
        let noisy: String = noisy.into_iter().collect();
        prop_assert_eq!(words.check(&noisy), words.check(&text), "{:?}", noisy);
    }

    #[test]
    fn width_case_and_separators_do_not_evade(before in "[好a]{0,3}", gaps in prop::collection::vec("[ .*_|·-]{0,3}", 2), after in "[好，]{0,3}") {
        let terms = [term("法轮功", "x", TermAction::Block)];
        let words = Dictionary::build(1, &terms).unwrap();
        let text = format!("{before}法{}輪{}功{after}", gaps[0], gaps[1]);
        prop_assert_eq!(words.check(&text), FilterVerdict::Block { categories: vec!["x".into()] });
    }
}
