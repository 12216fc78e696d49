//! The letters by which scripts know reactions. They are part of the stored format.

use gailou_shared::wire::Reaction;

use crate::domain::operation::ReactionChange;

/// The letter of an operation: lower case puts a reaction, upper case takes it back.
pub(super) const fn change_letter(change: ReactionChange) -> &'static str {
    match change {
        ReactionChange::Put(Reaction::Like) => "l",
        ReactionChange::Put(Reaction::Dislike) => "d",
        ReactionChange::Take(Reaction::Like) => "L",
        ReactionChange::Take(Reaction::Dislike) => "D",
    }
}

/// The letter of what a member thinks.
pub(super) const fn reaction_letter(reaction: Option<Reaction>) -> &'static str {
    match reaction {
        None => "-",
        Some(Reaction::Like) => "l",
        Some(Reaction::Dislike) => "d",
    }
}

/// What a letter says a member thinks; `None` for the scripts' `?`.
pub(super) fn parse_reaction(letter: &str) -> Option<Option<Reaction>> {
    match letter {
        "-" => Some(None),
        "l" => Some(Some(Reaction::Like)),
        "d" => Some(Some(Reaction::Dislike)),
        _ => None,
    }
}
