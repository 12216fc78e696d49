//! The words by case: each language has all of them, in words of its own.

use std::collections::BTreeSet;

use super::*;

/// Every text by its name; one with parameters for each kind of number that some language has a form for.
fn texts(words: &PageWords) -> Vec<(String, String)> {
    let PageWords {
        name,
        languages,
        no_comments,
        comments,
        closed,
        hidden,
        empty,
        more_comments,
        more_replies,
        replies_left,
        replying_to,
        likes,
        deleted,
        deleted_author,
        guest,
        guest_title,
        moderator,
        admin,
        level,
        pinned,
        featured,
        edited,
        floor,
        storey,
        conversation,
        gap,
        write_comment,
        write_reply,
        reply,
        your_name,
        your_comment,
        post,
        held,
        common: _,
        refusals,
    } = words;
    let RefusalWords {
        challenge,
        no_guests,
        parent_gone,
        form_too_old,
        sent_before,
        busy,
        muted,
        level_too_low,
        blocked_words,
        name_not_allowed,
        wrong_name,
        wrong_text,
        other,
    } = refusals;
    let plain = [
        ("name", name),
        ("languages", languages),
        ("no_comments", no_comments),
        ("closed", closed),
        ("hidden", hidden),
        ("empty", empty),
        ("more_comments", more_comments),
        ("more_replies", more_replies),
        ("replying_to", replying_to),
        ("deleted", deleted),
        ("deleted_author", deleted_author),
        ("guest", guest),
        ("guest_title", guest_title),
        ("moderator", moderator),
        ("admin", admin),
        ("pinned", pinned),
        ("featured", featured),
        ("edited", edited),
        ("write_comment", write_comment),
        ("write_reply", write_reply),
        ("reply", reply),
        ("your_name", your_name),
        ("your_comment", your_comment),
        ("post", post),
        ("held", held),
        ("challenge", challenge),
        ("no_guests", no_guests),
        ("parent_gone", parent_gone),
        ("form_too_old", form_too_old),
        ("sent_before", sent_before),
        ("busy", busy),
        ("muted", muted),
        ("level_too_low", level_too_low),
        ("name_not_allowed", name_not_allowed),
        ("other", other),
    ];
    let mut texts: Vec<_> = plain.map(|(name, text)| (name.to_owned(), (*text).to_owned())).into();
    texts.push(("blocked_words".into(), blocked_words("ads")));
    for n in [1_u8, 2, 3, 5, 11, 21, 100] {
        let (long, size) = (u64::from(n), usize::from(n));
        let numbered = [
            ("comments", comments(long)),
            ("replies_left", replies_left(long)),
            ("likes", likes(long)),
            ("level", level(n)),
            ("floor", floor(long)),
            ("storey", storey(size)),
            ("conversation", conversation(size)),
            ("gap", gap(size)),
            ("wrong_name", wrong_name(size)),
            ("wrong_text", wrong_text(size)),
        ];
        for (name, text) in numbered {
            assert!(text.contains(&n.to_string()), "{name}: {text} without {n}");
            texts.push((format!("{name}({n})"), text));
        }
    }
    texts
}

/// What a language says as English does.
const SAME_AS_ENGLISH: [(ReaderLanguage, &[&str]); 10] = [
    (ReaderLanguage::SimplifiedChinese, &["level"]),
    (ReaderLanguage::TraditionalChinese, &["level"]),
    (ReaderLanguage::Japanese, &["floor", "level"]),
    (ReaderLanguage::Korean, &["floor", "level"]),
    (ReaderLanguage::German, &["admin", "floor", "level", "moderator"]),
    (ReaderLanguage::French, &["admin"]),
    (ReaderLanguage::Spanish, &["admin", "floor"]),
    (ReaderLanguage::Portuguese, &["admin", "floor"]),
    (ReaderLanguage::Arabic, &["floor"]),
    (ReaderLanguage::Hebrew, &["floor"]),
];

#[test]
fn no_text_is_empty_or_left_in_english() {
    let english = texts(PageWords::of(ReaderLanguage::English));
    for language in ReaderLanguage::ALL.into_iter().filter(|language| *language != ReaderLanguage::English) {
        let own = texts(PageWords::of(language));
        assert!(own.iter().all(|(_, text)| !text.trim().is_empty()), "{language:?}: {own:?}");
        let same = own.iter().filter(|text| english.contains(text));
        let same: BTreeSet<_> = same.map(|(name, _)| name.split('(').next().unwrap_or_default()).collect();
        let expected = SAME_AS_ENGLISH.iter().find(|(named, _)| *named == language);
        let expected: BTreeSet<_> = expected.into_iter().flat_map(|(_, names)| *names).copied().collect();
        assert_eq!(same, expected, "{language:?}");
    }
}

#[test]
fn text_is_in_the_script_of_its_language() {
    let is_own = |language: ReaderLanguage, c: char| match language {
        ReaderLanguage::SimplifiedChinese | ReaderLanguage::TraditionalChinese => matches!(c, '\u{4e00}'..='\u{9fff}'),
        ReaderLanguage::Japanese => matches!(c, '\u{3040}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}'),
        ReaderLanguage::Korean => matches!(c, '\u{ac00}'..='\u{d7a3}'),
        ReaderLanguage::Russian => matches!(c, '\u{400}'..='\u{4ff}'),
        ReaderLanguage::Arabic => matches!(c, '\u{600}'..='\u{6ff}'),
        ReaderLanguage::Hebrew => matches!(c, '\u{590}'..='\u{5ff}'),
        _ => c.is_alphabetic(),
    };
    // Not letters of a language: the number sign, the level, and the name of a language of programs.
    let is_shared = |text: &str| text.starts_with(['#', '№']) || text.starts_with("Lv ");
    for language in ReaderLanguage::ALL {
        for (name, text) in texts(PageWords::of(language)) {
            let text = text.replace("JavaScript", "").replace("ads", "");
            let letters = || text.chars().filter(|c| c.is_alphabetic());
            let is_right = letters().count() > 0 && letters().all(|c| is_own(language, c));
            assert!(is_right || is_shared(&text), "{language:?} {name}: {text}");
        }
    }
}

#[test]
fn traditional_chinese_is_not_the_simplified_one() {
    let [simplified, traditional] =
        [ReaderLanguage::SimplifiedChinese, ReaderLanguage::TraditionalChinese].map(|each| texts(PageWords::of(each)));
    let simplified_only = "评论发顶复还内为区员简体语访号开删";
    for (name, text) in &traditional {
        assert!(!text.contains(|c| simplified_only.contains(c)), "{name}: {text}");
    }
    assert!(simplified.iter().any(|(_, text)| text.contains(|c| simplified_only.contains(c))));
}

#[test]
fn each_wrong_field_has_a_sentence() {
    let check = |code: Code, fields: &[&'static str], expected: &[&str]| {
        let errors: Vec<_> = fields.iter().map(|field| FieldError::new(*field, "ads")).collect();
        assert_eq!(PageWords::of(ReaderLanguage::German).refusal(code, &errors, 500), expected, "{code:?} {fields:?}");
    };
    let name = "Gib einen Namen mit höchstens 64 Zeichen und ohne Steuerzeichen ein.";
    let text = "Dieser Text ist leer, hat mehr als 500 Zeichen oder enthält Zeichen, die hier nicht erlaubt sind.";
    check(Code::InvalidRequest, &["name", "content"], &[name, text]);
    check(Code::InvalidRequest, &["key"], &["Dein Kommentar wurde nicht angenommen."]);
    let taken = "Dieser Name ist hier nicht erlaubt oder schon vergeben. Wähle einen anderen.";
    check(Code::ContentRejected, &["name"], &[taken]);
    let blocked = "Dein Kommentar enthält Wörter, die hier nicht erlaubt sind (Kategorien: ads).";
    check(Code::ContentRejected, &["content"], &[blocked]);
    check(Code::SubjectClosed, &[], &["Die Kommentare sind geschlossen."]);
    check(Code::Muted, &[], &["Du kannst hier zurzeit nicht kommentieren."]);
}
