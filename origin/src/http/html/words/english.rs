//! The words in English.

use gailou_shared::page_language::ReaderLanguage;
use gailou_shared::refusal_page::RefusalPageWords;

use crate::http::html::words::{PageWords, RefusalWords, counted};

pub(super) const ENGLISH_PAGE_WORDS: PageWords = PageWords {
    name: "English",
    languages: "Languages",
    no_comments: "Comments",
    comments: |n| counted(n, "comment", "comments"),
    closed: "Comments are closed here.",
    hidden: "Comments are hidden here.",
    empty: "No comments yet.",
    more_comments: "More comments",
    more_replies: "More replies",
    replies_left: |n| counted(n, "more reply", "more replies"),
    replying_to: "replying to",
    likes: |n| counted(n, "like", "likes"),
    deleted: "This comment was deleted.",
    deleted_author: "Deleted",
    guest: "Guest",
    guest_title: "Has no account here",
    moderator: "Moderator",
    admin: "Admin",
    level: |n| format!("Lv {n}"),
    pinned: "Pinned",
    featured: "Featured",
    edited: "edited",
    floor: |n| format!("#{n}"),
    storey: |n| format!("floor {n}"),
    conversation: |n| format!("conversation, {n} floors"),
    gap: |n| format!("{n} more {}", if n == 1 { "floor" } else { "floors" }),
    write_comment: "Write a comment",
    write_reply: "Write a reply",
    reply: "Reply",
    your_name: "Your name",
    your_comment: "Your comment",
    post: "Post",
    held: "Your comment is awaiting review.",
    common: RefusalPageWords::of(ReaderLanguage::English),
    refusals: RefusalWords {
        challenge: "This site asks guests to show that they are no robots, and that needs JavaScript. Your text is kept \
                    here: comment on the page of the article, with JavaScript switched on.",
        no_guests: "Guests cannot comment here.",
        parent_gone: "The comment that you answer is no longer there.",
        form_too_old: "This form is too old. Your text is kept here: copy it, and open the form again.",
        sent_before: "This form was sent before with another text. Copy your text, and open the form again.",
        busy: "The comment server is busy. Whether this was done is not known; sending it again is safe.",
        muted: "You cannot comment here for the time being.",
        level_too_low: "Your level is not high enough to comment here yet.",
        blocked_words: |categories| {
            format!("Your comment contains words that are not allowed here (categories: {categories}).")
        },
        name_not_allowed: "This name is not allowed here, or it is taken. Choose another.",
        wrong_name: |max| format!("A name is needed, of at most {max} characters and without control characters."),
        wrong_text: |max| {
            format!("This text is empty, has more than {max} characters, or has characters that are not allowed here.")
        },
        other: "Your comment was not accepted.",
    },
};
