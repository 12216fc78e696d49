//! The words in Korean.

use gailou_shared::page_language::ReaderLanguage;
use gailou_shared::refusal_page::RefusalPageWords;

use crate::http::html::words::{PageWords, RefusalWords};

pub(super) const KOREAN_PAGE_WORDS: PageWords = PageWords {
    name: "한국어",
    languages: "언어",
    no_comments: "댓글",
    comments: |n| format!("댓글 {n}개"),
    closed: "댓글이 닫혔습니다.",
    hidden: "이 페이지의 댓글은 숨겨져 있습니다.",
    empty: "아직 댓글이 없습니다.",
    more_comments: "댓글 더 보기",
    more_replies: "답글 더 보기",
    replies_left: |n| format!("답글 {n}개 더 있음"),
    replying_to: "답글 대상",
    likes: |n| format!("좋아요 {n}개"),
    deleted: "삭제된 댓글입니다",
    deleted_author: "삭제됨",
    guest: "손님",
    guest_title: "이 사이트에 계정이 없는 작성자",
    moderator: "운영자",
    admin: "관리자",
    level: |n| format!("Lv {n}"),
    pinned: "고정됨",
    featured: "추천 댓글",
    edited: "수정됨",
    floor: |n| format!("#{n}"),
    storey: |n| format!("{n}층"),
    conversation: |n| format!("대화, 모두 {n}층"),
    gap: |n| format!("{n}층 더 있음"),
    write_comment: "댓글 쓰기",
    write_reply: "답글 쓰기",
    reply: "답글",
    your_name: "이름",
    your_comment: "댓글 내용",
    post: "등록",
    held: "댓글이 승인을 기다리고 있습니다.",
    common: RefusalPageWords::of(ReaderLanguage::Korean),
    refusals: RefusalWords {
        challenge: "이 사이트는 손님에게 로봇이 아니라는 확인을 요청하며, 여기에는 JavaScript가 필요합니다. 쓰신 글은 여기에 남아 있습니다. \
                    JavaScript를 켜고 글이 있는 페이지에서 댓글을 써 주세요.",
        no_guests: "손님은 여기에 댓글을 쓸 수 없습니다.",
        parent_gone: "답글을 달려는 댓글이 더 이상 없습니다.",
        form_too_old: "양식이 만료되었습니다. 쓰신 글은 여기에 남아 있습니다. 복사한 뒤 양식을 다시 열어 주세요.",
        sent_before: "이 양식은 다른 내용으로 이미 보냈습니다. 글을 복사한 뒤 양식을 다시 열어 주세요.",
        busy: "댓글 서버가 바쁩니다. 결과를 알 수 없지만 다시 보내도 안전합니다.",
        muted: "지금은 여기에 댓글을 쓸 수 없습니다.",
        level_too_low: "아직 여기에 댓글을 쓸 수 있는 레벨이 아닙니다.",
        blocked_words: |categories| format!("여기에서 쓸 수 없는 말이 들어 있습니다(분류: {categories})."),
        name_not_allowed: "쓸 수 없거나 이미 사용 중인 이름입니다. 다른 이름을 골라 주세요.",
        wrong_name: |max| format!("이름을 {max}자 이내로 입력해 주세요. 제어 문자는 쓸 수 없습니다."),
        wrong_text: |max| format!("내용이 비어 있거나, {max}자를 넘거나, 여기에서 쓸 수 없는 문자가 들어 있습니다."),
        other: "댓글이 등록되지 않았습니다.",
    },
};
