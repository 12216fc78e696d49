//! The words in German, with the informal address of the element.

use gailou_shared::page_language::ReaderLanguage;
use gailou_shared::refusal_page::RefusalPageWords;

use crate::http::html::words::{PageWords, RefusalWords, counted};

pub(super) const GERMAN_PAGE_WORDS: PageWords = PageWords {
    name: "Deutsch",
    languages: "Sprachen",
    no_comments: "Kommentare",
    comments: |n| counted(n, "Kommentar", "Kommentare"),
    closed: "Die Kommentare sind geschlossen.",
    hidden: "Die Kommentare dieser Seite sind ausgeblendet.",
    empty: "Noch keine Kommentare.",
    more_comments: "Weitere Kommentare",
    more_replies: "Weitere Antworten",
    replies_left: |n| counted(n, "weitere Antwort", "weitere Antworten"),
    replying_to: "Antwort an",
    likes: |n| format!("Gefällt mir: {n}"),
    deleted: "Dieser Kommentar wurde gelöscht",
    deleted_author: "Gelöscht",
    guest: "Gast",
    guest_title: "Hat hier kein Konto",
    moderator: "Moderator",
    admin: "Admin",
    level: |n| format!("Lv {n}"),
    pinned: "Angepinnt",
    featured: "Ausgewählt",
    edited: "bearbeitet",
    floor: |n| format!("#{n}"),
    storey: |n| format!("Etage {n}"),
    conversation: |n| format!("Gespräch, {n} Etagen"),
    gap: |n| format!("noch {n} {}", if n == 1 { "Etage" } else { "Etagen" }),
    write_comment: "Kommentar schreiben",
    write_reply: "Antwort schreiben",
    reply: "Antworten",
    your_name: "Dein Name",
    your_comment: "Dein Kommentar",
    post: "Veröffentlichen",
    held: "Dein Kommentar wartet auf Freischaltung.",
    common: RefusalPageWords::of(ReaderLanguage::German),
    refusals: RefusalWords {
        challenge: "Auf dieser Website müssen Gäste zeigen, dass sie keine Roboter sind, und dafür braucht es JavaScript. \
                    Dein Text bleibt hier erhalten: Kommentiere auf der Seite des Artikels, mit eingeschaltetem JavaScript.",
        no_guests: "Gäste können hier nicht kommentieren.",
        parent_gone: "Den Kommentar, auf den du antwortest, gibt es nicht mehr.",
        form_too_old: "Dieses Formular ist zu alt. Dein Text bleibt hier erhalten: Kopiere ihn und öffne das Formular neu.",
        sent_before: "Dieses Formular wurde schon mit einem anderen Text gesendet. Kopiere deinen Text und öffne das \
                      Formular neu.",
        busy: "Der Kommentarserver ist ausgelastet. Ergebnis unbekannt; ein neuer Versuch ist sicher.",
        muted: "Du kannst hier zurzeit nicht kommentieren.",
        level_too_low: "Deine Stufe reicht hier noch nicht zum Kommentieren.",
        blocked_words: |categories| {
            format!("Dein Kommentar enthält Wörter, die hier nicht erlaubt sind (Kategorien: {categories}).")
        },
        name_not_allowed: "Dieser Name ist hier nicht erlaubt oder schon vergeben. Wähle einen anderen.",
        wrong_name: |max| format!("Gib einen Namen mit höchstens {max} Zeichen und ohne Steuerzeichen ein."),
        wrong_text: |max| {
            format!(
                "Dieser Text ist leer, hat mehr als {max} Zeichen oder enthält Zeichen, die hier nicht erlaubt sind."
            )
        },
        other: "Dein Kommentar wurde nicht angenommen.",
    },
};
