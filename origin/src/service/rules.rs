//! The rules that hold a text, whatever its words are.

use gailou_shared::id::MemberKind;
use gailou_shared::token::Member;
use gailou_shared::wire::{CommentState, ReviewReason, ReviewReasonKind};

use crate::config::GuestRule;
use crate::service::filter::FilteredText;
use crate::state::AppState;

/// Holds a text of this author where a rule says so.
pub(super) fn apply(app: &AppState, author: &Member, text: &mut FilteredText) {
    let settings = app.settings();
    let rules = &settings.values.rules;
    if author.id.kind() == MemberKind::Guest && rules.guests == GuestRule::Held {
        hold(text, "guest");
    }
}

fn hold(text: &mut FilteredText, rule: &str) {
    text.state = CommentState::Review;
    text.reasons.push(ReviewReason { kind: ReviewReasonKind::Rule, detail: rule.into(), count: 1 });
}
