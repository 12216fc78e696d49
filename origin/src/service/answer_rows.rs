//! The rows of one answer, read until the answer is full.
//!
//! An answer has a bound in bytes: a page of the largest comments is cut short, and its cursor goes on
//! behind the last comment that fits. Promise: at least one group fits, so a walk always gets on; and
//! memory is bounded too, because what cannot fit is not read.

use std::collections::HashMap;

use gailou_shared::id::CommentId;
use gailou_shared::limits;

use crate::domain::avatar::PICTURE_ADDRESS_OVERHEAD_BYTES;
use crate::domain::row::CommentRow;
use crate::ports::store::CommentReader;
use crate::service::ServiceResult;
use crate::state::AppState;

/// Comments read at once before their size is known: a default page with its replies. The largest ones
/// take 8 MB.
const FIRST_READ: usize = (1 + limits::TOP_REPLIES) * limits::DEFAULT_PAGE_SIZE;
/// What a comment takes in JSON beside its texts and its path: names of fields, ids, numbers.
const COMMENT_OVERHEAD_BYTES: usize = 950;
/// An id on a path, in quotes and with its comma.
const PATH_ID_BYTES: usize = 22;
/// A mention or the author of the parent, beside the name.
const MEMBER_OVERHEAD_BYTES: usize = 50;

/// A picture, beside its name and its description.
const MEDIA_OVERHEAD_BYTES: usize = 100;

/// The rows of an answer.
#[derive(Debug)]
pub(super) struct AnswerRows {
    /// By id: those of the groups that fit, perhaps more.
    pub(super) rows: HashMap<CommentId, CommentRow>,
    /// How many groups fit.
    pub(super) shown: usize,
}

impl AnswerRows {
    /// Reads groups of comments that are shown together or not at all, until `max_bytes` are full;
    /// `beside` are comments that the answer shows beside them, within [`limits::MAX_PINNED_BYTES`].
    /// `listed_at`: where the first ones of the groups are a list's, the version of their subject that the list had all
    /// of.
    ///
    /// # Errors
    /// The store's.
    pub(super) async fn read(
        app: &AppState,
        beside: &[CommentId],
        groups: &[Vec<CommentId>],
        max_bytes: usize,
        listed_at: Option<u64>,
    ) -> ServiceResult<Self> {
        let mut rows = HashMap::new();
        let (mut shown, mut used, mut next_read) = (0, 0, FIRST_READ);
        let mut wanted = beside.to_vec();
        while shown < groups.len() {
            let (mut read, mut comments) = (shown, 0);
            while read < groups.len() && (comments + groups[read].len() <= next_read || read == shown) {
                wanted.extend(&groups[read]);
                comments += groups[read].len();
                read += 1;
            }
            rows.extend(app.store.read_comments(&wanted).await?);
            if let Some(version) = listed_at {
                let listed = groups[shown..read].iter().filter_map(|group| group.first());
                replace_older_rows(&*app.store, listed, version, &mut rows).await;
            }
            if shown == 0 {
                used = beside_bytes(beside, &rows);
            }
            wanted.clear();
            for group in &groups[shown..read] {
                let bytes: usize = group.iter().filter_map(|id| rows.get(id)).map(json_bytes).sum();
                if used + bytes > max_bytes && shown > 0 {
                    return Ok(Self { rows, shown });
                }
                (used, shown) = (used + bytes, shown + 1);
            }
            // As many again as fit, if they are as large as those before.
            let mean_bytes = (used / comments.max(1)).max(1);
            next_read = (max_bytes.saturating_sub(used) / mean_bytes).max(1);
        }
        if groups.is_empty() {
            rows = app.store.read_comments(&wanted).await?;
        }
        Ok(Self { rows, shown })
    }
}

/// Replaces rows that are older than the list that named them: a list had these comments at this version of their subject,
/// and a row from memory, of this version or an earlier one, says that it has not. Without that, a comment that was
/// restored would be missing from a walk for as long as a process remembers that it was hidden. While the tables do not
/// answer, the rows stay.
async fn replace_older_rows(
    store: &(impl CommentReader + ?Sized),
    listed: impl Iterator<Item = &CommentId>,
    version: u64,
    rows: &mut HashMap<CommentId, CommentRow>,
) {
    let is_older = |id: &&CommentId| rows.get(id).is_some_and(|row| !row.is_listed() && row.version <= version);
    let older: Vec<_> = listed.filter(is_older).copied().collect();
    if older.is_empty() {
        return;
    }
    match store.read_stored_comments(&older).await {
        Ok(stored) => rows.extend(stored),
        Err(error) => tracing::debug!(%error, "Could not read {} comments again that a list has", older.len()),
    }
}

/// The comments of a list that fit into `max_bytes`, in its order.
pub(super) fn fitting<'r>(
    rows: impl IntoIterator<Item = &'r CommentRow>,
    max_bytes: usize,
) -> impl Iterator<Item = &'r CommentRow> {
    let mut used = 0;
    rows.into_iter().take_while(move |row| {
        used += json_bytes(row);
        used <= max_bytes
    })
}

fn beside_bytes(ids: &[CommentId], rows: &HashMap<CommentId, CommentRow>) -> usize {
    fitting(ids.iter().filter_map(|id| rows.get(id)), limits::MAX_PINNED_BYTES).map(json_bytes).sum()
}

/// No less than a comment's bytes in JSON.
pub(super) fn json_bytes(row: &CommentRow) -> usize {
    let members: usize =
        row.mentions.iter().chain(&row.reply_to).map(|m| MEMBER_OVERHEAD_BYTES + text_bytes(&m.name)).sum();
    let media: usize = row.media.iter().map(|m| MEDIA_OVERHEAD_BYTES + text_bytes(&m.name) + text_bytes(&m.alt)).sum();
    let author = text_bytes(&row.author.name) + row.author.avatar.as_deref().map_or(0, picture_address_bytes);
    let texts = text_bytes(&row.content) + text_bytes(&row.html) + text_bytes(row.subject.key());
    COMMENT_OVERHEAD_BYTES + row.path.depth() * PATH_ID_BYTES + members + media + author + texts
}

/// No less than the bytes of the address at which readers get a picture.
fn picture_address_bytes(address: &str) -> usize {
    text_bytes(address).max(PICTURE_ADDRESS_OVERHEAD_BYTES + (4 * address.len()).div_ceil(3))
}

/// The bytes of a text as a JSON string, without its quotes.
fn text_bytes(text: &str) -> usize {
    let escape = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 1,
        0..0x20 => 5,
        _ => 0,
    };
    text.len() + text.bytes().map(escape).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use gailou_shared::id::{MediaId, MemberId, SubjectKey};
    use gailou_shared::path::{Mode, Path, Threading};
    use gailou_shared::wire::{Author, Comment, MemberRef};
    use proptest::prelude::*;

    use super::*;
    use crate::domain::avatar::PictureAddresses;
    use crate::domain::media::MediaRef;
    use crate::domain::sign_in::SignInKey;
    use crate::service::comment_view;
    use crate::testing::fixtures::comment_row;

    fn picture(id: u64, alt: &str) -> MediaRef {
        let id = MediaId::new(id + (1 << 62)).unwrap();
        MediaRef { id, name: "n".repeat(57), width: 2_048, height: 2_048, alt: alt.to_owned() }
    }

    proptest! {
        #[test]
        fn size_of_a_comment_is_not_underestimated(
            content in "\\PC{0,40}|[\\\\\"\n\t<\u{1}]{0,40}",
            name in "\\PC{0,20}",
            depth in 1usize..128,
            mentions in 0usize..20,
        ) {
            let subject = SubjectKey::new("article", "a \"key\"").unwrap();
            let ids: Vec<_> = (0..depth as u64).map(|n| CommentId::new((1 << 62) + n).unwrap()).collect();
            let mut path = Path::root(ids[0]);
            for id in &ids[1..] {
                path = path.child(*id).unwrap();
            }
            let member = MemberRef { id: MemberId::new(u64::MAX >> 2).unwrap(), name: name.clone() };
            let row = comment_row(&subject, path, &content);
            let row = CommentRow {
                author: Author { name, avatar: Some(content.clone()), ..row.author },
                reply_to: Some(member.clone()),
                mentions: vec![member; mentions],
                media: (0..4).map(|id| picture(id + 1, &content)).collect(),
                html: content,
                ..row
            };
            let server = format!("https://{}", "c".repeat(253));
            for server in [None, Some(&*server)] {
                let addresses = PictureAddresses::new(server, SignInKey::new(b"one"));
                let threading = Threading { mode: Mode::Building, level_limit: 128 };
                let author = Some(addresses.shown_author(&row.author));
                let comment = Comment { author, ..comment_view::without_author(&row, threading) };
                let json = serde_json::to_vec(&comment).unwrap();
                prop_assert!(json.len() <= json_bytes(&row), "{} > {}", json.len(), json_bytes(&row));
            }
        }
    }

    /// Two processes: the other one restores a comment that this one remembers as hidden.
    #[cfg(feature = "cluster")]
    #[tokio::test(start_paused = true)]
    async fn restored_comment_is_in_the_page_of_its_version() {
        use crate::domain::row::CommentList;
        use crate::ports::journal::CommitListener as _;
        use crate::ports::store::ThreadReader as _;
        use crate::testing::test_bed::TestBed;
        use gailou_shared::rank::Sort;
        use gailou_shared::wire::CommentState;

        let bed = TestBed::new(1, 1);
        let (this, other) = (bed.cached_store(), bed.cached_store());
        let subject = SubjectKey::new("article", "1").unwrap();
        let (id, _) = bed.store.publish(&subject, 1, None);
        let hide = |state| bed.store.edit(id, |row| row.state = state);
        other.on_commit(&[], &hide(CommentState::Deleted)).await;
        let read = async || this.read_comments(&[id]).await.unwrap();
        for _ in 0..9 {
            assert!(!read().await[&id].is_listed());
        }
        other.on_commit(&[], &hide(CommentState::Published)).await;
        let list = CommentList::Roots(subject.clone());
        let listed = this.list_ranked_of(&subject, &list, Sort::Hot).await.unwrap();
        let version = this.read_subjects(&[subject]).await.unwrap()[0].as_ref().unwrap().version;
        assert_eq!((listed.entries.len(), listed.version), (1, version));

        let mut rows = read().await;
        assert!(!rows[&id].is_listed(), "remembered");
        replace_older_rows(&*this, [id].iter(), version - 1, &mut rows).await;
        assert!(rows[&id].is_listed(), "an older list had it, too");
        let reads = bed.store.reads();
        let mut rows = read().await;
        rows.get_mut(&id).unwrap().version = version + 1;
        replace_older_rows(&*this, [id].iter(), version, &mut rows).await;
        assert!(!rows[&id].is_listed() && bed.store.reads() == reads, "it was taken down since");
        replace_older_rows(&*this, [].iter(), version, &mut rows).await;
        assert_eq!(bed.store.reads(), reads);
    }
}
