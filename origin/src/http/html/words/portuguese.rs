//! The words in Portuguese, as it is written in Brazil.

use gailou_shared::page_language::ReaderLanguage;
use gailou_shared::refusal_page::RefusalPageWords;

use crate::http::html::words::{PageWords, RefusalWords, counted};

pub(super) const PORTUGUESE_PAGE_WORDS: PageWords = PageWords {
    name: "Português (Brasil)",
    languages: "Idiomas",
    no_comments: "Comentários",
    comments: |n| counted(n, "comentário", "comentários"),
    closed: "Os comentários estão fechados.",
    hidden: "Os comentários desta página estão ocultos.",
    empty: "Ainda não há comentários.",
    more_comments: "Mais comentários",
    more_replies: "Mais respostas",
    replies_left: |n| format!("mais {}", counted(n, "resposta", "respostas")),
    replying_to: "em resposta a",
    likes: |n| counted(n, "curtida", "curtidas"),
    deleted: "Este comentário foi excluído",
    deleted_author: "Excluído",
    guest: "Visitante",
    guest_title: "Não tem conta aqui",
    moderator: "Moderador",
    admin: "Admin",
    level: |n| format!("Nv. {n}"),
    pinned: "Fixado",
    featured: "Em destaque",
    edited: "editado",
    floor: |n| format!("#{n}"),
    storey: |n| format!("Andar {n}"),
    conversation: |n| format!("conversa, {n} andares"),
    gap: |n| format!("mais {n} {}", if n == 1 { "andar" } else { "andares" }),
    write_comment: "Escrever um comentário",
    write_reply: "Escrever uma resposta",
    reply: "Responder",
    your_name: "Seu nome",
    your_comment: "Seu comentário",
    post: "Publicar",
    held: "Seu comentário está aguardando moderação.",
    common: RefusalPageWords::of(ReaderLanguage::Portuguese),
    refusals: RefusalWords {
        challenge: "Este site pede que os visitantes mostrem que não são robôs, e isso precisa de JavaScript. Seu texto fica \
                    guardado aqui: comente na página do artigo, com o JavaScript ativado.",
        no_guests: "Visitantes não podem comentar aqui.",
        parent_gone: "O comentário que você está respondendo não existe mais.",
        form_too_old: "Este formulário é antigo demais. Seu texto fica guardado aqui: copie-o e abra o formulário de novo.",
        sent_before: "Este formulário já foi enviado com outro texto. Copie seu texto e abra o formulário de novo.",
        busy: "O servidor de comentários está ocupado. Resultado desconhecido; tentar de novo é seguro.",
        muted: "Por enquanto você não pode comentar aqui.",
        level_too_low: "Seu nível ainda não permite comentar aqui.",
        blocked_words: |categories| {
            format!("Seu comentário contém palavras que não são permitidas aqui (categorias: {categories}).")
        },
        name_not_allowed: "Este nome não é permitido aqui ou já está em uso. Escolha outro.",
        wrong_name: |max| format!("Informe um nome de no máximo {max} caracteres, sem caracteres de controle."),
        wrong_text: |max| {
            format!(
                "Este texto está vazio, passa de {max} caracteres ou contém caracteres que não são permitidos aqui."
            )
        },
        other: "Seu comentário não foi aceito.",
    },
};
