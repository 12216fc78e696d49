//! The words in Hebrew.

use gailou_shared::page_language::ReaderLanguage;
use gailou_shared::refusal_page::RefusalPageWords;

use crate::http::html::words::{PageWords, RefusalWords};

pub(super) const HEBREW_PAGE_WORDS: PageWords = PageWords {
    name: "עברית",
    languages: "שפות",
    no_comments: "תגובות",
    comments: |n| format!("תגובות: {n}"),
    closed: "התגובות סגורות.",
    hidden: "התגובות של עמוד זה מוסתרות.",
    empty: "עדיין אין תגובות.",
    more_comments: "תגובות נוספות",
    more_replies: "מענים נוספים",
    replies_left: |n| format!("מענים נוספים: {n}"),
    replying_to: "במענה אל",
    likes: |n| format!("אהבו: {n}"),
    deleted: "התגובה נמחקה",
    deleted_author: "נמחק",
    guest: "אורח",
    guest_title: "ללא חשבון באתר",
    moderator: "מנחה",
    admin: "מנהל",
    level: |n| format!("רמה {n}"),
    pinned: "נעוץ",
    featured: "נבחר",
    edited: "נערך",
    floor: |n| format!("#{n}"),
    storey: |n| format!("קומה {n}"),
    conversation: |n| format!("שיחה, מספר הקומות: {n}"),
    gap: |n| format!("קומות נוספות: {n}"),
    write_comment: "כתיבת תגובה",
    write_reply: "כתיבת מענה",
    reply: "מענה",
    your_name: "השם שלך",
    your_comment: "התגובה שלך",
    post: "פרסום",
    held: "התגובה ממתינה לאישור.",
    common: RefusalPageWords::of(ReaderLanguage::Hebrew),
    refusals: RefusalWords {
        challenge: "האתר מבקש מאורחים להראות שאינם רובוטים, ולשם כך נדרש JavaScript. הטקסט שלך נשמר כאן: אפשר להגיב בעמוד המאמר, \
                    כש־JavaScript מופעל.",
        no_guests: "אורחים אינם יכולים להגיב כאן.",
        parent_gone: "התגובה שאליה נכתב המענה כבר לא קיימת.",
        form_too_old: "הטופס ישן מדי. הטקסט שלך נשמר כאן: יש להעתיק אותו ולפתוח את הטופס מחדש.",
        sent_before: "הטופס כבר נשלח עם טקסט אחר. יש להעתיק את הטקסט ולפתוח את הטופס מחדש.",
        busy: "שרת התגובות עמוס. התוצאה אינה ידועה; ניסיון חוזר בטוח.",
        muted: "אין אפשרות להגיב כאן כרגע.",
        level_too_low: "הרמה שלך עדיין אינה מאפשרת להגיב כאן.",
        blocked_words: |categories| {
            format!("התגובה מכילה מילים שאינן מותרות כאן (קטגוריות: \u{2068}{categories}\u{2069}).")
        },
        name_not_allowed: "השם אינו מותר כאן או שכבר תפוס. יש לבחור שם אחר.",
        wrong_name: |max| format!("יש להזין שם של {max} תווים לכל היותר, ללא תווי בקרה."),
        wrong_text: |max| format!("הטקסט ריק, ארוך מ־{max} תווים או מכיל תווים שאינם מותרים כאן."),
        other: "התגובה לא התקבלה.",
    },
};
