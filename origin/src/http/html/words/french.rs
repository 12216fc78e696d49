//! The words in French.

use gailou_shared::page_language::ReaderLanguage;
use gailou_shared::refusal_page::RefusalPageWords;

use crate::http::html::words::{PageWords, RefusalWords, counted};

pub(super) const FRENCH_PAGE_WORDS: PageWords = PageWords {
    name: "Français",
    languages: "Langues",
    no_comments: "Commentaires",
    comments: |n| counted(n, "commentaire", "commentaires"),
    closed: "Les commentaires sont fermés.",
    hidden: "Les commentaires de cette page sont masqués.",
    empty: "Aucun commentaire pour l’instant.",
    more_comments: "Plus de commentaires",
    more_replies: "Plus de réponses",
    replies_left: |n| counted(n, "autre réponse", "autres réponses"),
    replying_to: "en réponse à",
    likes: |n| format!("J’aime\u{a0}: {n}"),
    deleted: "Ce commentaire a été supprimé",
    deleted_author: "Supprimé",
    guest: "Invité",
    guest_title: "N’a pas de compte ici",
    moderator: "Modérateur",
    admin: "Admin",
    level: |n| format!("Niv. {n}"),
    pinned: "Épinglé",
    featured: "Sélection",
    edited: "modifié",
    floor: |n| format!("nº\u{a0}{n}"),
    storey: |n| format!("Étage {n}"),
    conversation: |n| format!("conversation, {n} étages"),
    gap: |n| format!("encore {n} {}", if n == 1 { "étage" } else { "étages" }),
    write_comment: "Écrire un commentaire",
    write_reply: "Écrire une réponse",
    reply: "Répondre",
    your_name: "Votre nom",
    your_comment: "Votre commentaire",
    post: "Publier",
    held: "Votre commentaire est en attente de modération.",
    common: RefusalPageWords::of(ReaderLanguage::French),
    refusals: RefusalWords {
        challenge: "Ce site demande aux invités de montrer qu’ils ne sont pas des robots, et cela nécessite JavaScript. Votre \
                    texte est conservé ici\u{a0}: commentez sur la page de l’article, avec JavaScript activé.",
        no_guests: "Les invités ne peuvent pas commenter ici.",
        parent_gone: "Le commentaire auquel vous répondez n’existe plus.",
        form_too_old: "Ce formulaire est trop ancien. Votre texte est conservé ici\u{a0}: copiez-le et rouvrez le formulaire.",
        sent_before: "Ce formulaire a déjà été envoyé avec un autre texte. Copiez votre texte et rouvrez le formulaire.",
        busy: "Le serveur de commentaires est très sollicité. Résultat inconnu\u{a0}; réessayer est sans risque.",
        muted: "Vous ne pouvez pas commenter ici pour le moment.",
        level_too_low: "Votre niveau ne permet pas encore de commenter ici.",
        blocked_words: |categories| {
            format!(
                "Votre commentaire contient des mots qui ne sont pas autorisés ici (catégories\u{a0}: {categories})."
            )
        },
        name_not_allowed: "Ce nom n’est pas autorisé ici, ou il est déjà pris. Choisissez-en un autre.",
        wrong_name: |max| format!("Indiquez un nom de {max} caractères au plus, sans caractères de contrôle."),
        wrong_text: |max| {
            format!("Ce texte est vide, dépasse {max} caractères ou contient des caractères non autorisés ici.")
        },
        other: "Votre commentaire n’a pas été accepté.",
    },
};
