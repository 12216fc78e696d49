//! Batches into rows: each event is folded in memory, each row it touches is read and written once.
//!
//! A batch is one transaction: all of it is stored or none. Nothing is refused here for business
//! reasons; the outcomes say what was there already.

mod flush;

pub(super) use flush::rekey;

use std::collections::{HashMap, HashSet};

use gailou_shared::id::{CommentId, MemberId, SubjectKey};
use gailou_shared::limits;
use gailou_shared::path::Path;
use gailou_shared::rank::{Counts, Weights};
use gailou_shared::wire::{Reaction, State, Visibility};
use gailou_shared::words::Term;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use super::read;
use super::rows::{self, count, damaged};
use crate::store::{Audit, Change, Event, NewRow, Outcome, Persisted, PinnedBy, React, Result, Stamped, SubjectPatch};

/// Writes a batch. See [`crate::store::Store::persist`].
pub(super) fn persist(
    writer: &mut Connection,
    weights: impl Fn(&str) -> Weights,
    batch: &[Stamped],
) -> Result<Persisted> {
    let tx = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut fold = Fold {
        tx: &tx,
        subjects: HashMap::new(),
        comments: HashMap::new(),
        reactions: HashMap::new(),
        members: HashSet::new(),
    };
    let mut outcomes = Vec::with_capacity(batch.len());
    for stamped in batch {
        outcomes.push(fold.apply(stamped)?);
    }
    let changed = fold.flush(weights)?;
    tx.commit()?;
    Ok(Persisted { outcomes, changed })
}

/// A subject's row while a batch is folded.
struct SubjectFold {
    key: SubjectKey,
    version: u64,
    floors: u64,
    roots: u64,
    comments: u64,
    changed: bool,
}

/// A comment's row while a batch is folded.
struct CommentFold {
    subject: i64,
    path: Path,
    created_at: u64,
    floor: Option<u64>,
    /// The last floor given below it.
    floors: u64,
    state: State,
    visibility: Visibility,
    flags: i64,
    pinned_at: Option<u64>,
    edited_at: Option<u64>,
    counts: Counts,
    /// Whether it stood in lists before the batch, and with which counts.
    before: (bool, Counts),
    changed: bool,
    /// Whether more than counts changed.
    moved: bool,
}

impl CommentFold {
    fn visible(&self) -> bool {
        self.state == State::Published && self.visibility == Visibility::Everyone
    }

    fn listed(&self) -> bool {
        self.visible() || (self.floor.is_some() && self.counts.replies > 0)
    }
}

struct Fold<'t> {
    tx: &'t Transaction<'t>,
    subjects: HashMap<i64, SubjectFold>,
    comments: HashMap<CommentId, CommentFold>,
    /// What the member thought before the batch, and thinks now.
    reactions: HashMap<(CommentId, MemberId), (Option<Reaction>, Option<Reaction>)>,
    members: HashSet<MemberId>,
}

impl Fold<'_> {
    fn apply(&mut self, stamped: &Stamped) -> Result<Outcome> {
        let at = stamped.at;
        match &stamped.event {
            Event::Publish(new) => self.publish(new, at),
            Event::React { id, member, react } => self.react(*id, *member, *react),
            Event::Change { id, change, audit } => self.change(*id, change, audit.as_ref(), at),
            Event::Subject { key, patch, audit } => self.patch_subject(key, patch, audit.as_ref(), at),
            Event::Snapshot(snapshot) => {
                self.tx
                    .prepare_cached("INSERT INTO snapshot (id, ids, used_at) VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET used_at = excluded.used_at")?
                    .execute(params![snapshot.id(), snapshot.to_bytes(), at])?;
                Ok(Outcome::Done)
            }
            Event::Words(terms) => self.words(terms),
            Event::Sweep => {
                let (snapshots, keys) =
                    (at.saturating_sub(limits::SNAPSHOT_MS), at.saturating_sub(limits::IDEMPOTENCY_MS));
                self.tx.execute("DELETE FROM snapshot WHERE used_at < ?1", [snapshots])?;
                self.tx.execute("DELETE FROM idempotency WHERE created_at < ?1", [keys])?;
                Ok(Outcome::Done)
            }
        }
    }

    /// The number of a subject's row, made when it is not there.
    fn subject(&mut self, key: &SubjectKey) -> Result<i64> {
        let found = self
            .tx
            .prepare_cached("SELECT id, key FROM subject WHERE type = ?1 AND obj_id = ?2")?
            .query_row(params![key.kind(), key.obj_id() as i64], |r| Ok((r.get::<_, i64>(0)?, r.get::<_, String>(1)?)))
            .optional()?;
        let id = match found {
            Some((id, stored)) if stored == key.key() => id,
            Some((_, stored)) => {
                return Err(damaged(format_args!("the keys {stored:?} and {:?} have one hash", key.key())));
            }
            None => {
                self.tx
                    .prepare_cached("INSERT INTO subject (type, obj_id, key) VALUES (?1, ?2, ?3)")?
                    .execute(params![key.kind(), key.obj_id() as i64, key.key()])?;
                self.tx.last_insert_rowid()
            }
        };
        self.load_subject(id)?;
        Ok(id)
    }

    fn load_subject(&mut self, id: i64) -> Result<&mut SubjectFold> {
        use std::collections::hash_map::Entry;
        match self.subjects.entry(id) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => {
                let mut statement = self
                    .tx
                    .prepare_cached("SELECT type, key, version, floors, roots, comments FROM subject WHERE id = ?1")?;
                let mut found = statement.query([id])?;
                let r = found.next()?.ok_or_else(|| damaged(format_args!("subject {id} is missing")))?;
                Ok(entry.insert(SubjectFold {
                    key: SubjectKey::new(&r.get::<_, String>(0)?, &r.get::<_, String>(1)?).map_err(damaged)?,
                    version: count(r.get(2)?),
                    floors: count(r.get(3)?),
                    roots: count(r.get(4)?),
                    comments: count(r.get(5)?),
                    changed: false,
                }))
            }
        }
    }

    /// The comment while the batch is folded; `None` when there is none.
    fn comment(&mut self, id: CommentId) -> Result<Option<&mut CommentFold>> {
        use std::collections::hash_map::Entry;
        match self.comments.entry(id) {
            Entry::Occupied(entry) => Ok(Some(entry.into_mut())),
            Entry::Vacant(entry) => {
                let mut statement = self.tx.prepare_cached(
                    "SELECT subject, path, created_at, floor, floors, state, visibility, flags, pinned_at, likes, dislikes, replies, \
                     listed, edited_at FROM comment WHERE id = ?1",
                )?;
                let mut found = statement.query([id.signed()])?;
                let Some(r) = found.next()? else { return Ok(None) };
                let counts =
                    Counts { likes: count(r.get(9)?), dislikes: count(r.get(10)?), replies: count(r.get(11)?) };
                Ok(Some(entry.insert(CommentFold {
                    subject: r.get(0)?,
                    path: rows::path(r.get_ref(1)?.as_blob().map_err(damaged)?)?,
                    created_at: count(r.get(2)?),
                    floor: r.get::<_, Option<i64>>(3)?.map(count),
                    floors: count(r.get(4)?),
                    state: rows::state(r.get(5)?)?,
                    visibility: rows::visibility(r.get(6)?),
                    flags: r.get(7)?,
                    pinned_at: r.get::<_, Option<i64>>(8)?.map(count),
                    edited_at: r.get::<_, Option<i64>>(13)?.map(count),
                    counts,
                    before: (r.get::<_, i64>(12)? == 1, counts),
                    changed: false,
                    moved: false,
                })))
            }
        }
    }

    fn present(&mut self, id: CommentId) -> Result<&mut CommentFold> {
        self.comment(id)?.ok_or_else(|| damaged(format_args!("comment {id} is missing")))
    }

    fn publish(&mut self, new: &NewRow, at: u64) -> Result<Outcome> {
        let id = new.path.id();
        if let Some((key, request)) = &new.idempotency {
            if let Some(answer) = self.replay(new.author.id, key, request, at)? {
                return Ok(answer);
            }
            self.tx
                .prepare_cached("INSERT OR REPLACE INTO idempotency (member_id, key, request, comment_id, state, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
                .execute(params![new.author.id.signed(), key, request, id.signed(), rows::state_number(new.state), at])?;
        }
        let subject = self.subject(&new.subject)?;
        if let Some(imported) = &new.imported {
            let known: Option<i64> = self
                .tx
                .prepare_cached("SELECT comment_id FROM import_source WHERE subject = ?1 AND source = ?2")?
                .query_row(params![subject, imported.source], |r| r.get(0))
                .optional()?;
            if let Some(known) = known {
                return Ok(Outcome::Present { id: rows::comment_id(known)? });
            }
            self.tx
                .prepare_cached("INSERT INTO import_source (subject, source, comment_id) VALUES (?1, ?2, ?3)")?
                .execute(params![subject, imported.source, id.signed()])?;
        }
        let root = new.path.root_id();
        let visible = new.state == State::Published && new.visibility == Visibility::Everyone;
        // An imported tombstone was published once, somewhere.
        let floor = if visible || (new.imported.is_some() && new.state == State::Deleted) {
            Some(self.next_floor(subject, &new.path)?)
        } else {
            None
        };
        let base = new.imported.as_ref().map_or((0, 0), |i| (i.likes, i.dislikes));
        let edited_at = new.imported.as_ref().and_then(|i| i.edited_at);
        let pinned = new.imported.as_ref().is_some_and(|i| i.pinned);
        let flags = if pinned { rows::PINNED } else { 0 } | if edited_at.is_some() { rows::EDITED } else { 0 };
        let pinned_at = pinned.then_some(new.created_at);
        self.tx
            .prepare_cached(
                "INSERT INTO comment (id, subject, root_id, parent_id, path, depth, floor, state, visibility, listed, flags, pinned_at, \
                 author_id, author_name, author_avatar, author_level, reply_to_id, reply_to_name, likes, dislikes, base_likes, \
                 base_dislikes, created_at, edited_at) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?19, ?20, ?21, ?22)",
            )?
            .execute(params![
                id.signed(),
                subject,
                root.signed(),
                new.parent_id.map(CommentId::signed),
                new.path.as_bytes(),
                new.path.depth() as i64,
                floor,
                rows::state_number(new.state),
                rows::visibility_number(new.visibility),
                visible,
                flags,
                pinned_at,
                new.author.id.signed(),
                new.author.name,
                new.author.avatar,
                new.author.level,
                new.reply_to.as_ref().map(|m| m.id.signed()),
                new.reply_to.as_ref().map(|m| m.name.as_str()),
                base.0,
                base.1,
                new.created_at,
                edited_at,
            ])?;
        let mentions =
            if new.mentions.is_empty() { None } else { Some(serde_json::to_string(&new.mentions).map_err(damaged)?) };
        self.tx
            .prepare_cached("INSERT INTO content (id, content, html, mentions, written) VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute(params![id.signed(), new.content, new.html, mentions, new.written])?;
        let counts = Counts { likes: base.0, dislikes: base.1, replies: 0 };
        self.comments.insert(
            id,
            CommentFold {
                subject,
                path: new.path.clone(),
                created_at: new.created_at,
                floor,
                floors: 0,
                state: new.state,
                visibility: new.visibility,
                flags,
                pinned_at,
                edited_at,
                counts,
                before: (false, Counts::default()),
                changed: true,
                moved: false,
            },
        );
        if visible {
            self.count(subject, &new.path, 1)?;
        }
        if new.imported.is_none() && self.members.insert(new.author.id) {
            self.remember(new)?;
        }
        Ok(Outcome::Published { floor })
    }

    /// The outcome of an earlier request with this key, while keys are remembered.
    fn replay(&self, member: MemberId, key: &str, request: &[u8; 32], at: u64) -> Result<Option<Outcome>> {
        let found = read::remembered(self.tx, member, key, at.saturating_sub(limits::IDEMPOTENCY_MS))?;
        Ok(found.map(|r| {
            if r.request == *request { Outcome::Replayed { id: r.id, state: r.state } } else { Outcome::Mismatch }
        }))
    }

    fn remember(&self, new: &NewRow) -> Result<()> {
        self.tx
            .prepare_cached(
                "INSERT INTO member (id, name, avatar, level) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE SET name = excluded.name, \
                 avatar = excluded.avatar, level = excluded.level \
                 WHERE name <> excluded.name OR avatar IS NOT excluded.avatar OR level <> excluded.level",
            )?
            .execute(params![new.author.id.signed(), new.author.name, new.author.avatar, new.author.level])?;
        Ok(())
    }

    /// Floors are given at first publication and never again: roots count up per subject, replies
    /// per root.
    fn next_floor(&mut self, subject: i64, path: &Path) -> Result<u64> {
        if path.depth() == 1 {
            let subject = self.load_subject(subject)?;
            subject.floors += 1;
            subject.changed = true;
            return Ok(subject.floors);
        }
        let root = self.present(path.root_id())?;
        root.floors += 1;
        root.changed = true;
        Ok(root.floors)
    }

    /// A comment has become visible (1) or stopped being so (−1).
    fn count(&mut self, subject: i64, path: &Path, by: i64) -> Result<()> {
        let subject = self.load_subject(subject)?;
        subject.changed = true;
        subject.comments = subject.comments.saturating_add_signed(by);
        if path.depth() == 1 {
            subject.roots = subject.roots.saturating_add_signed(by);
        }
        for ancestor in path.ids().take(path.depth() - 1) {
            let ancestor = self.present(ancestor)?;
            let was = ancestor.listed();
            ancestor.counts.replies = ancestor.counts.replies.saturating_add_signed(by);
            ancestor.changed = true;
            ancestor.moved |= was != ancestor.listed();
        }
        Ok(())
    }

    fn react(&mut self, id: CommentId, member: MemberId, react: React) -> Result<Outcome> {
        use std::collections::hash_map::Entry;
        if !self.comment(id)?.is_some_and(|c| c.visible()) {
            return Ok(Outcome::NoComment);
        }
        let pair = match self.reactions.entry((id, member)) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let stored: Option<i64> = self
                    .tx
                    .prepare_cached("SELECT reaction FROM reaction WHERE comment_id = ?1 AND member_id = ?2")?
                    .query_row([id.signed(), member.signed()], |r| r.get(0))
                    .optional()?;
                let stored = stored.map(rows::reaction).transpose()?;
                entry.insert((stored, stored))
            }
        };
        let (before, after) = (pair.1, react.fold(pair.1));
        pair.1 = after;
        let comment = self.present(id)?;
        if before != after {
            let delta = |which| i64::from(after == Some(which)) - i64::from(before == Some(which));
            comment.counts.likes = comment.counts.likes.saturating_add_signed(delta(Reaction::Like));
            comment.counts.dislikes = comment.counts.dislikes.saturating_add_signed(delta(Reaction::Dislike));
            comment.changed = true;
        }
        let (subject, counts) = (comment.subject, comment.counts);
        if before != after {
            self.load_subject(subject)?.changed = true;
        }
        Ok(Outcome::Reacted { likes: counts.likes, dislikes: counts.dislikes, reaction: after })
    }

    fn change(&mut self, id: CommentId, change: &Change, audit: Option<&Audit>, at: u64) -> Result<Outcome> {
        let Some(comment) = self.comment(id)? else { return Ok(Outcome::NoComment) };
        comment.changed = true;
        comment.moved = true;
        let subject = comment.subject;
        match change {
            Change::Pin(by) => {
                comment.flags &= !(rows::PINNED | rows::OWNER_PINNED);
                comment.flags |= match by {
                    None => 0,
                    Some(PinnedBy::Moderator) => rows::PINNED,
                    Some(PinnedBy::Owner) => rows::PINNED | rows::OWNER_PINNED,
                };
                comment.pinned_at = by.map(|_| at);
            }
            Change::Feature(on) => {
                comment.flags = if *on { comment.flags | rows::FEATURED } else { comment.flags & !rows::FEATURED };
            }
            Change::State(state) => self.set_state(id, *state)?,
            Change::Edit { content, html, written, state } => {
                comment.flags |= rows::EDITED;
                comment.edited_at = Some(at);
                self.set_state(id, *state)?;
                self.tx
                    .prepare_cached(
                        "INSERT OR IGNORE INTO content_history (comment_id, edited_at, content) \
                         SELECT id, ?2, content FROM content WHERE id = ?1",
                    )?
                    .execute(params![id.signed(), at])?;
                self.tx
                    .prepare_cached("UPDATE content SET content = ?2, html = ?3, written = ?4 WHERE id = ?1")?
                    .execute(params![id.signed(), content, html, written])?;
            }
        }
        self.load_subject(subject)?.changed = true;
        self.audit(audit, Some(id), None, at)?;
        Ok(Outcome::Done)
    }

    fn set_state(&mut self, id: CommentId, state: State) -> Result<()> {
        let comment = self.present(id)?;
        let (subject, path, was) = (comment.subject, comment.path.clone(), comment.visible());
        comment.state = state;
        let is = comment.visible();
        if is && comment.floor.is_none() {
            let floor = self.next_floor(subject, &path)?;
            self.present(id)?.floor = Some(floor);
        }
        if was != is {
            self.count(subject, &path, if is { 1 } else { -1 })?;
        }
        Ok(())
    }

    fn patch_subject(
        &mut self,
        key: &SubjectKey,
        patch: &SubjectPatch,
        audit: Option<&Audit>,
        at: u64,
    ) -> Result<Outcome> {
        let id = self.subject(key)?;
        self.load_subject(id)?.changed = true;
        if let Some(title) = &patch.title {
            self.tx.execute("UPDATE subject SET title = ?2 WHERE id = ?1", params![id, title])?;
        }
        if let Some(url) = &patch.url {
            self.tx.execute("UPDATE subject SET url = ?2 WHERE id = ?1", params![id, url])?;
        }
        if let Some(owner) = patch.owner_id {
            self.tx
                .execute("UPDATE subject SET owner_id = ?2 WHERE id = ?1", params![id, owner.map(MemberId::signed)])?;
        }
        if let Some(state) = patch.state {
            self.tx.execute(
                "UPDATE subject SET state = ?2 WHERE id = ?1",
                params![id, rows::subject_state_number(state)],
            )?;
        }
        if let Some(mode) = patch.mode {
            self.tx.execute("UPDATE subject SET mode = ?2 WHERE id = ?1", params![id, rows::mode_number(mode)])?;
        }
        self.audit(audit, None, Some(id), at)?;
        Ok(Outcome::Done)
    }

    fn audit(&self, audit: Option<&Audit>, comment: Option<CommentId>, subject: Option<i64>, at: u64) -> Result<()> {
        if let Some(audit) = audit {
            self.tx
                .prepare_cached("INSERT INTO audit (at, actor_id, action, comment_id, subject, reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
                .execute(params![at, audit.actor.signed(), audit.action, comment.map(CommentId::signed), subject, audit.reason])?;
        }
        Ok(())
    }

    fn words(&self, terms: &[Term]) -> Result<Outcome> {
        self.tx.execute("DELETE FROM word", [])?;
        let mut insert = self.tx.prepare("INSERT OR REPLACE INTO word (term, category, action) VALUES (?1, ?2, ?3)")?;
        for term in terms {
            let action = serde_json::to_value(term.action).map_err(damaged)?;
            insert.execute(params![term.term, term.category, action.as_str()])?;
        }
        self.tx.execute(
            "INSERT INTO setting (name, value) VALUES ('words_version', 1) ON CONFLICT DO UPDATE SET value = value + 1",
            [],
        )?;
        Ok(Outcome::Done)
    }
}
