//! The words in Russian, with the formal address.

use gailou_shared::page_language::ReaderLanguage;
use gailou_shared::refusal_page::RefusalPageWords;

use crate::http::html::words::{PageWords, RefusalWords};

pub(super) const RUSSIAN_PAGE_WORDS: PageWords = PageWords {
    name: "Русский",
    languages: "Языки",
    no_comments: "Комментарии",
    comments: |n| format!("Комментарии: {n}"),
    closed: "Комментарии закрыты.",
    hidden: "Комментарии этой страницы скрыты.",
    empty: "Комментариев пока нет.",
    more_comments: "Ещё комментарии",
    more_replies: "Ещё ответы",
    replies_left: |n| format!("Ещё ответы: {n}"),
    replying_to: "в ответ пользователю",
    likes: |n| format!("Нравится: {n}"),
    deleted: "Комментарий удалён",
    deleted_author: "Удалено",
    guest: "Гость",
    guest_title: "Нет учётной записи на этом сайте",
    moderator: "Модератор",
    admin: "Администратор",
    level: |n| format!("Ур. {n}"),
    pinned: "Закреплено",
    featured: "Выбор редакции",
    edited: "изменено",
    floor: |n| format!("№\u{a0}{n}"),
    storey: |n| format!("Этаж {n}"),
    conversation: |n| format!("разговор, этажей: {n}"),
    gap: |n| format!("ещё этажи: {n}"),
    write_comment: "Написать комментарий",
    write_reply: "Написать ответ",
    reply: "Ответить",
    your_name: "Ваше имя",
    your_comment: "Ваш комментарий",
    post: "Отправить",
    held: "Ваш комментарий ожидает проверки.",
    common: RefusalPageWords::of(ReaderLanguage::Russian),
    refusals: RefusalWords {
        challenge: "Этот сайт просит гостей подтвердить, что они не роботы, а для этого нужен JavaScript. Ваш текст сохранён \
                    здесь: оставьте комментарий на странице статьи, включив JavaScript.",
        no_guests: "Гости не могут здесь комментировать.",
        parent_gone: "Комментария, на который вы отвечаете, больше нет.",
        form_too_old: "Эта форма устарела. Ваш текст сохранён здесь: скопируйте его и откройте форму заново.",
        sent_before: "Эта форма уже была отправлена с другим текстом. Скопируйте свой текст и откройте форму заново.",
        busy: "Сервер комментариев перегружен. Результат неизвестен; повтор безопасен.",
        muted: "Пока вы не можете здесь комментировать.",
        level_too_low: "Вашего уровня пока недостаточно, чтобы комментировать.",
        blocked_words: |categories| {
            format!("В комментарии есть слова, которые здесь не разрешены (категории: {categories}).")
        },
        name_not_allowed: "Это имя здесь не разрешено или уже занято. Выберите другое.",
        wrong_name: |max| format!("Укажите имя без управляющих символов. Наибольшая длина: {max}."),
        wrong_text: |max| {
            format!(
                "Текст пуст, слишком длинный или содержит символы, которые здесь не разрешены. Наибольшая длина: {max}."
            )
        },
        other: "Ваш комментарий не принят.",
    },
};
