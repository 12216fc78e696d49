//! The words in Spanish.

use gailou_shared::page_language::ReaderLanguage;
use gailou_shared::refusal_page::RefusalPageWords;

use crate::http::html::words::{PageWords, RefusalWords, counted};

pub(super) const SPANISH_PAGE_WORDS: PageWords = PageWords {
    name: "Español",
    languages: "Idiomas",
    no_comments: "Comentarios",
    comments: |n| counted(n, "comentario", "comentarios"),
    closed: "Los comentarios están cerrados.",
    hidden: "Los comentarios de esta página están ocultos.",
    empty: "Aún no hay comentarios.",
    more_comments: "Más comentarios",
    more_replies: "Más respuestas",
    replies_left: |n| counted(n, "respuesta más", "respuestas más"),
    replying_to: "en respuesta a",
    likes: |n| format!("Me gusta: {n}"),
    deleted: "Este comentario se ha eliminado",
    deleted_author: "Eliminado",
    guest: "Invitado",
    guest_title: "No tiene cuenta aquí",
    moderator: "Moderador",
    admin: "Admin",
    level: |n| format!("Nv. {n}"),
    pinned: "Fijado",
    featured: "Selección",
    edited: "editado",
    floor: |n| format!("#{n}"),
    storey: |n| format!("Piso {n}"),
    conversation: |n| format!("conversación, {n} pisos"),
    gap: |n| format!("{n} {} más", if n == 1 { "piso" } else { "pisos" }),
    write_comment: "Escribir un comentario",
    write_reply: "Escribir una respuesta",
    reply: "Responder",
    your_name: "Tu nombre",
    your_comment: "Tu comentario",
    post: "Publicar",
    held: "Tu comentario está pendiente de moderación.",
    common: RefusalPageWords::of(ReaderLanguage::Spanish),
    refusals: RefusalWords {
        challenge: "Este sitio pide a los invitados que demuestren que no son robots, y eso necesita JavaScript. Tu texto se \
                    conserva aquí: comenta en la página del artículo, con JavaScript activado.",
        no_guests: "Los invitados no pueden comentar aquí.",
        parent_gone: "El comentario al que respondes ya no existe.",
        form_too_old: "Este formulario es demasiado antiguo. Tu texto se conserva aquí: cópialo y vuelve a abrir el formulario.",
        sent_before: "Este formulario ya se envió con otro texto. Copia tu texto y vuelve a abrir el formulario.",
        busy: "El servidor de comentarios está ocupado. Resultado desconocido; reintentar es seguro.",
        muted: "Por ahora no puedes comentar aquí.",
        level_too_low: "Tu nivel aún no permite comentar aquí.",
        blocked_words: |categories| {
            format!("Tu comentario contiene palabras que no se permiten aquí (categorías: {categories}).")
        },
        name_not_allowed: "Este nombre no se permite aquí o ya está en uso. Elige otro.",
        wrong_name: |max| format!("Escribe un nombre de {max} caracteres como máximo, sin caracteres de control."),
        wrong_text: |max| {
            format!("Este texto está vacío, supera los {max} caracteres o contiene caracteres que no se permiten aquí.")
        },
        other: "Tu comentario no se ha aceptado.",
    },
};
