//! Where the rows that dirty rows name are: one condition a table.

use std::collections::BTreeMap;

use gailou_shared::id::Slot;

use crate::adapters::mysql::dirty_rows::DirtyRow;
use crate::adapters::mysql::rows::number_at;
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::statement::hex_literal;
use crate::ports::store::Result;

/// A condition on the rows of a table.
#[derive(Debug)]
pub(super) struct TableCondition {
    pub(super) table: &'static str,
    pub(super) condition: String,
}

/// Second columns of primary keys, by their first columns.
type KeyPairs = BTreeMap<i64, Vec<String>>;

/// The keys of dirty rows by kind, as literals.
#[derive(Default)]
struct DirtyKeys {
    subjects: Vec<String>,
    comments: Vec<String>,
    contents: Vec<String>,
    aliases: Vec<String>,
    snapshots: Vec<String>,
    idempotency: Vec<String>,
    members: Vec<String>,
    audits: Vec<String>,
    digests: Vec<String>,
    notified: Vec<String>,
    reactions: KeyPairs,
    histories: KeyPairs,
}

impl DirtyKeys {
    fn of(dirty: &[DirtyRow]) -> Self {
        let mut keys = Self::default();
        for row in dirty {
            match row {
                DirtyRow::Subject(id) => keys.subjects.push(id.to_string()),
                DirtyRow::Comment(id) => keys.comments.push(id.to_string()),
                DirtyRow::Content(id) => keys.contents.push(id.to_string()),
                DirtyRow::Reaction(id, member) => {
                    keys.reactions.entry(id.signed()).or_default().push(member.to_string());
                }
                DirtyRow::Idempotency(member, key) => {
                    let key = hex_literal(key.as_bytes());
                    keys.idempotency.push(format!("(member_id = {member} AND `key` = {key})"));
                }
                DirtyRow::Alias(id) => keys.aliases.push(id.to_string()),
                DirtyRow::Snapshot(id) => keys.snapshots.push(hex_literal(id)),
                DirtyRow::Member(id) => keys.members.push(id.to_string()),
                DirtyRow::Digest(digest) => keys.digests.push(hex_literal(digest)),
                DirtyRow::Audit(id) => keys.audits.push(id.to_string()),
                DirtyRow::Notifications(member) => keys.notified.push(member.to_string()),
                DirtyRow::History(member, id) => {
                    keys.histories.entry(member.signed()).or_default().push(id.to_string());
                }
            }
        }
        keys
    }
}

/// The conditions for the rows that these dirty rows name. The ranks of comments are found by the columns
/// of the comments, which are read from the source.
pub(super) async fn dirty_conditions(
    source: &mut MysqlSession,
    number: u16,
    slot: Slot,
    dirty: &[DirtyRow],
) -> Result<Vec<TableCondition>> {
    let keys = DirtyKeys::of(dirty);
    let (mut root_ranks, mut reply_ranks) = (KeyPairs::new(), KeyPairs::new());
    if !keys.comments.is_empty() {
        let ids = keys.comments.join(",");
        let text = format!("SELECT id, subject, root_id FROM comment_{number} WHERE id IN ({ids})");
        for r in source.fetch_text(text).await? {
            let (id, subject, root) = (number_at(&r, 0)?, number_at(&r, 1)?, number_at(&r, 2)?);
            if id == root {
                root_ranks.entry(subject).or_default().push(id.to_string());
            } else {
                reply_ranks.entry(root).or_default().push(id.to_string());
            }
        }
    }
    let idempotency = (!keys.idempotency.is_empty()).then(|| keys.idempotency.join(" OR "));
    let in_slot =
        |condition: Option<String>| condition.map(|condition| format!("slot = {} AND ({condition})", slot.get()));
    let of_comments = in_slot(is_in("comment_id", &keys.comments));
    let count_of_queue = of_comments.is_some().then(|| format!("slot = {}", slot.get()));
    let all = [
        ("subject", is_in("id", &keys.subjects)),
        ("comment", is_in("id", &keys.comments)),
        ("content", is_in("id", &keys.contents)),
        ("content_history", is_in("comment_id", &keys.contents)),
        ("mention", in_slot(is_in("comment_id", &keys.contents))),
        ("import_source", is_in("comment_id", &keys.contents)),
        ("root_rank", is_pair("subject", "id", &root_ranks)),
        ("reply_rank", in_slot(is_pair("root_id", "id", &reply_ranks))),
        ("reaction", in_slot(is_pair("comment_id", "member_id", &keys.reactions))),
        ("dead_reaction", in_slot(is_pair("comment_id", "member_id", &keys.reactions))),
        ("idempotency", in_slot(idempotency)),
        ("review", of_comments.clone()),
        ("review_count", count_of_queue),
        ("report", of_comments.clone()),
        ("author_network", of_comments.clone()),
        // Erasing a comment deletes what undoing its changes needs.
        ("undo", of_comments),
        ("undo", in_slot(is_in("audit_id", &keys.audits))),
        ("audit", in_slot(is_in("id", &keys.audits))),
        ("alias", in_slot(is_in("id", &keys.aliases))),
        ("snapshot", in_slot(is_in("id", &keys.snapshots))),
        ("member", is_in("id", &keys.members)),
        ("member_standing", is_in("id", &keys.members)),
        ("member_contact", is_in("id", &keys.members)),
        ("account", is_in("id", &keys.members)),
        ("refresh_family", is_in("account_id", &keys.members)),
        ("passkey", is_in("account_id", &keys.members)),
        ("identity", is_in("digest", &keys.digests)),
        ("sign_in_link", is_in("digest", &keys.digests)),
        ("notification", is_in("member_id", &keys.notified)),
        ("watch", is_in("member_id", &keys.notified)),
        ("member_comment", is_pair("member_id", "comment_id", &keys.histories)),
    ];
    let conditions =
        all.into_iter().filter_map(|(table, condition)| Some(TableCondition { table, condition: condition? }));
    Ok(conditions.collect())
}

fn is_in(column: &str, values: &[String]) -> Option<String> {
    (!values.is_empty()).then(|| format!("{column} IN ({})", values.join(",")))
}

fn is_pair(first: &str, second: &str, pairs: &KeyPairs) -> Option<String> {
    let each: Vec<String> = pairs
        .iter()
        .map(|(value, seconds)| format!("({first} = {value} AND {second} IN ({}))", seconds.join(",")))
        .collect();
    (!each.is_empty()).then(|| each.join(" OR "))
}
