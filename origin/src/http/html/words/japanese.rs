//! The words in Japanese.

use gailou_shared::page_language::ReaderLanguage;
use gailou_shared::refusal_page::RefusalPageWords;

use crate::http::html::words::{PageWords, RefusalWords};

pub(super) const JAPANESE_PAGE_WORDS: PageWords = PageWords {
    name: "日本語",
    languages: "言語",
    no_comments: "コメント",
    comments: |n| format!("{n}件のコメント"),
    closed: "コメントの受付は終了しました。",
    hidden: "このページのコメントは非表示になっています。",
    empty: "まだコメントはありません。",
    more_comments: "コメントをさらに表示",
    more_replies: "返信をさらに表示",
    replies_left: |n| format!("ほかに{n}件の返信"),
    replying_to: "返信先",
    likes: |n| format!("いいね {n}件"),
    deleted: "このコメントは削除されました",
    deleted_author: "削除済み",
    guest: "ゲスト",
    guest_title: "アカウントのない投稿者",
    moderator: "モデレーター",
    admin: "管理者",
    level: |n| format!("Lv {n}"),
    pinned: "固定",
    featured: "注目コメント",
    edited: "編集済み",
    floor: |n| format!("#{n}"),
    storey: |n| format!("{n}階"),
    conversation: |n| format!("会話、全{n}階"),
    gap: |n| format!("あと{n}階"),
    write_comment: "コメントを書く",
    write_reply: "返信を書く",
    reply: "返信",
    your_name: "名前",
    your_comment: "コメントの内容",
    post: "投稿",
    held: "コメントは承認待ちです。",
    common: RefusalPageWords::of(ReaderLanguage::Japanese),
    refusals: RefusalWords {
        challenge: "このサイトではロボットでないことの確認がゲストに求められ、それにはJavaScriptが必要です。\
                    入力した文章はここに残っています。JavaScriptを有効にして、記事のページからコメントしてください。",
        no_guests: "ゲストはここにコメントできません。",
        parent_gone: "返信先のコメントはもうありません。",
        form_too_old: "フォームの有効期限が切れました。入力した文章はここに残っています。\
                       コピーしてから、フォームを開き直してください。",
        sent_before: "このフォームは別の内容で送信済みです。文章をコピーしてから、フォームを開き直してください。",
        busy: "コメントサーバーが混み合っています。結果は不明ですが、再送信しても安全です。",
        muted: "現在、ここにはコメントできません。",
        level_too_low: "現在のレベルでは、まだここにコメントできません。",
        blocked_words: |categories| format!("ここでは使用できない言葉が含まれています（分類: {categories}）。"),
        name_not_allowed: "この名前は使用できないか、すでに使われています。別の名前を選んでください。",
        wrong_name: |max| format!("名前を{max}文字以内で入力してください。制御文字は使えません。"),
        wrong_text: |max| format!("本文が空か、{max}文字を超えているか、ここでは使用できない文字が含まれています。"),
        other: "コメントは受け付けられませんでした。",
    },
};
