//! Clients: they post, answer, edit, delete, react and read, and report every answer to the oracle.
//!
//! A request does what [`crate::service`] does with the journal and the store, without its rules of taste.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use gailou_shared::id::{CommentId, MemberId, SubjectKey};
use gailou_shared::path::Path;
use gailou_shared::wire::{Author, CommentState, Reaction};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::domain::operation::{CommentChange, Operation, OperationOutcome, ReactionChange};
use crate::domain::row::{CommentList, CommentRow, FloorRange, IdempotencyKey, NewCommentRow};
use crate::ports::journal::{Journal as _, JournalError};
use crate::ports::store::{CommentReader as _, MemberReader as _, ThreadReader as _};
use crate::testing::faults::lock;
use crate::testing::fixtures::{member, new_row};
use crate::testing::simulation::oracle::{Doubt, Oracle, Post};
use crate::testing::simulation::process::{Cluster, ServeProcess};
use crate::testing::simulation::world::World;

/// How long a client waits for an answer.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Between two requests of a client, at most, in milliseconds.
const MAX_PAUSE_MS: u64 = 600;
/// Floors of a page.
const PAGE: usize = 20;

/// One client, with a member of its own.
pub(super) struct Client {
    pub(super) number: u64,
    pub(super) world: Arc<World>,
    pub(super) cluster: Arc<Cluster>,
    pub(super) oracle: Arc<Mutex<Oracle>>,
    pub(super) subjects: Vec<SubjectKey>,
}

/// What became of a request that is not answered with what it asked for.
enum Failure {
    /// Nothing of it was written.
    NotWritten,
    /// It may have been written.
    Unknown,
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Full | JournalError::NotSent | JournalError::NotStoredYet | JournalError::Store(_) => {
                Self::NotWritten
            }
            JournalError::Closed | JournalError::Unknown(_) => Self::Unknown,
        }
    }
}

impl Client {
    fn member(&self) -> MemberId {
        member(self.number + 1)
    }

    fn oracle(&self) -> MutexGuard<'_, Oracle> {
        lock(&self.oracle)
    }

    /// Sends requests until the faults are over.
    pub(super) async fn run(&self, over: &CancellationToken) {
        while !over.is_cancelled() {
            self.world.pause(5, MAX_PAUSE_MS).await;
            let Some(server) = self.cluster.pick_server() else { continue };
            match self.world.below(100) {
                0..40 => self.post_new(&server).await,
                40..50 => self.post_again(&server).await,
                50..68 => self.react(&server).await,
                68..86 => self.read(&server).await,
                86..93 => self.change(&server, true).await,
                _ => self.change(&server, false).await,
            }
        }
    }

    fn pick_acknowledged(&self, is_wanted: impl Fn(&Post) -> bool) -> Option<(usize, CommentId)> {
        let oracle = self.oracle();
        let wanted = oracle.posts.iter().enumerate().filter(|(_, post)| is_wanted(post));
        let wanted: Vec<_> = wanted.filter_map(|(index, post)| Some((index, post.acknowledged?.0))).collect();
        // Mostly one of the latest: what was lost a moment ago is answered and liked.
        let first = if self.world.chance(700) { wanted.len().saturating_sub(4) } else { 0 };
        let at = first as u64 + self.world.below((wanted.len() - first) as u64);
        wanted.get(at as usize).copied()
    }

    /// Notes that an answer came; its value unless the client gave up before.
    async fn ask<T>(&self, request: impl Future<Output = T>) -> Option<T> {
        let answer = timeout(REQUEST_TIMEOUT, request).await.ok();
        let mut oracle = self.oracle();
        *(if answer.is_some() { &mut oracle.done } else { &mut oracle.refused }) += 1;
        answer
    }

    async fn post_new(&self, server: &ServeProcess) {
        let subject = &self.subjects[self.world.below(self.subjects.len() as u64) as usize];
        let parent = if self.world.chance(450) {
            self.pick_acknowledged(|post| post.subject == *subject && post.is_deleted == Doubt::No)
        } else {
            None
        };
        let index = self.oracle().add_post(self.member(), subject, parent.map(|(_, id)| id));
        self.post(server, index).await;
    }

    /// Repeats a post whose outcome is not known, or one that was acknowledged.
    async fn post_again(&self, server: &ServeProcess) {
        let own = |post: &Post| post.member == self.member();
        let candidates: Vec<usize> = {
            let oracle = self.oracle();
            let own = oracle.posts.iter().enumerate().filter(|(_, post)| own(post));
            own.filter(|(_, post)| post.is_there != Doubt::No).map(|(index, _)| index).collect()
        };
        if candidates.is_empty() {
            return;
        }
        let index = candidates[self.world.below(candidates.len() as u64) as usize];
        self.post(server, index).await;
    }

    async fn post(&self, server: &ServeProcess, index: usize) {
        let post = self.oracle().posts[index].clone();
        let sent = self.ask(self.send_post(server, &post)).await;
        let at = self.world.elapsed_ms();
        let mut oracle = self.oracle();
        match sent {
            Some(Ok(Some(id))) => {
                self.world.note("acknowledged", [id.get(), index as u64, 0]);
                self.world.explain(|| format!("client {} has {} as {id} of {}", self.number, post.key, post.subject));
                let post = &mut oracle.posts[index];
                if post.acknowledged.get_or_insert((id, at)).0 != id {
                    post.second_ids.insert(id);
                }
                post.is_there = Doubt::Yes;
            }
            // The parent is not there, or cannot be had; or nothing was sent.
            Some(Ok(None) | Err(Failure::NotWritten)) => {}
            Some(Err(Failure::Unknown)) | None => {
                let is_there = &mut oracle.posts[index].is_there;
                *is_there = if *is_there == Doubt::Yes { Doubt::Yes } else { Doubt::Maybe };
            }
        }
    }

    /// The id of the comment; `None` when its parent is not there.
    async fn send_post(&self, server: &ServeProcess, post: &Post) -> Result<Option<CommentId>, Failure> {
        let id = server.next_id(post.subject.slot());
        let path = match post.parent {
            None => Path::root(id),
            Some(parent) => {
                let rows = server.cached_store.read_comments(&[parent]).await.map_err(|_| Failure::NotWritten)?;
                let Some(row) = rows.get(&parent) else {
                    self.oracle().note_not_found(parent, "the parent");
                    return Ok(None);
                };
                let Ok(path) = row.path.child(id) else { return Ok(None) };
                path
            }
        };
        let mut request = [0; 32];
        request[..post.key.len()].copy_from_slice(post.key.as_bytes());
        let row = NewCommentRow {
            path,
            parent_id: post.parent,
            content: post.key.clone(),
            author: Author::new(post.member, format!("member {}", post.member), None, 0, None),
            reasons: vec![],
            idempotency: Some(IdempotencyKey { key: post.key.clone(), request }),
            ..new_row(&post.subject, id)
        };
        match server.journal.append(Operation::Publish(Box::new(row))).await? {
            OperationOutcome::Published { .. } => Ok(Some(id)),
            OperationOutcome::Replayed { id, .. } => Ok(Some(id)),
            outcome => {
                self.oracle().fail(format!("{} is answered {outcome:?}", post.key));
                Ok(None)
            }
        }
    }

    async fn react(&self, server: &ServeProcess) {
        let Some((_, id)) = self.pick_acknowledged(|post| post.is_deleted == Doubt::No) else { return };
        let member = self.member();
        if self.oracle().reactions.get(&(id, member)).is_some_and(|pair| pair.is_open) {
            return;
        }
        let change = match self.world.below(10) {
            0..6 => ReactionChange::Put(Reaction::Like),
            6..8 => ReactionChange::Take(Reaction::Like),
            _ => ReactionChange::Put(Reaction::Dislike),
        };
        let reacted = async {
            // Where a comment has two ids, this is its own.
            let rows = server.cached_store.read_comments(&[id]).await.map_err(|_| Failure::NotWritten)?;
            let Some(own) = rows.get(&id).map(CommentRow::id) else { return Ok(OperationOutcome::NoComment) };
            Ok(server.journal.append(Operation::React { id: own, member, change }).await?)
        };
        let answer = self.ask(reacted).await;
        let mut oracle = self.oracle();
        match answer {
            Some(Ok(OperationOutcome::Reacted { reaction, .. })) => {
                self.world.note("reacted", [id.get(), member.get(), 0]);
                oracle.note_reacted(id, member, change, reaction);
            }
            Some(Ok(_)) => oracle.note_not_found(id, "a reaction"),
            Some(Err(Failure::NotWritten)) => {}
            Some(Err(Failure::Unknown)) | None => oracle.note_unknown_reaction(id, member, change),
        }
    }

    /// Deletes one of its own comments, or edits it.
    async fn change(&self, server: &ServeProcess, deletes: bool) {
        let own = |post: &Post| post.member == self.member() && post.is_deleted == Doubt::No;
        let Some((index, id)) = self.pick_acknowledged(own) else { return };
        let text = format!("{} edited at {}", self.oracle().posts[index].key, self.world.elapsed_ms());
        let change = if deletes {
            CommentChange::State(CommentState::Deleted)
        } else {
            let (content, html) = (text.clone(), String::new());
            CommentChange::Edit {
                content,
                html,
                original_text: None,
                state: CommentState::Published,
                reasons: vec![],
                max_edits: 0,
            }
        };
        let changed = async {
            match server.cached_store.read_comments(&[id]).await {
                Ok(rows) if rows.contains_key(&id) => {}
                Ok(_) => return Ok(OperationOutcome::NoComment),
                Err(_) => return Err(Failure::NotWritten),
            }
            // From here on it may be done.
            self.note_change(index, (!deletes).then(|| text.clone()));
            Ok(server.journal.append(Operation::Change { id, change, audit: None }).await?)
        };
        let asked_at = self.world.elapsed_ms();
        let answer = self.ask(changed).await;
        let mut oracle = self.oracle();
        match answer {
            Some(Ok(OperationOutcome::NoComment)) => {
                if oracle.posts[index].is_deleted == Doubt::Maybe && deletes {
                    oracle.posts[index].is_deleted = Doubt::No;
                }
                oracle.note_not_found(id, if deletes { "the deletion" } else { "the edit" });
            }
            Some(Ok(_)) => {
                self.world.note("changed", [id.get(), u64::from(deletes), 0]);
                self.world.explain(|| format!("client {} changed {id}, deletes: {deletes}", self.number));
                oracle.note_changed(index, asked_at, (!deletes).then_some(text));
            }
            // An edit or a deletion that was not written is remembered as one that may be: nothing depends on it.
            Some(Err(_)) | None => {}
        }
    }

    /// Notes that a comment may be changed: to this text, or deleted.
    fn note_change(&self, index: usize, text: Option<String>) {
        let post = &mut self.oracle().posts[index];
        match text {
            Some(text) => {
                post.former_texts.insert(text.clone());
                post.texts.insert(text);
            }
            None => post.is_deleted = Doubt::Maybe,
        }
    }

    async fn read(&self, server: &ServeProcess) {
        if self.world.chance(300) {
            let subject = &self.subjects[self.world.below(self.subjects.len() as u64) as usize];
            let list = CommentList::Roots(subject.clone());
            self.ask(async {
                let floors = server.cached_store.list_floors(&list, FloorRange::newest(PAGE)).await.unwrap_or_default();
                let ids: Vec<CommentId> = floors.into_iter().map(|(_, id)| id).collect();
                let _ = server.cached_store.read_comments(&ids).await;
                let _ = server.cached_store.read_subjects(std::slice::from_ref(subject)).await;
                let _ = server.cached_store.read_reactions(self.member(), &ids).await;
            })
            .await;
            return;
        }
        let Some((_, id)) = self.pick_acknowledged(|post| post.is_deleted == Doubt::No) else { return };
        if let Some(Ok(rows)) = self.ask(server.cached_store.read_comments(&[id])).await
            && !rows.contains_key(&id)
        {
            self.oracle().note_not_found(id, "a read");
        }
    }
}
