//! The contract of the passkeys of accounts, on every adapter.

use gailou_shared::id::{CommentId, MemberId, PasskeyId};
use gailou_shared::token::Role;
use gailou_shared::wire::MemberRef;
use serde_json::json;

use crate::adapters::sqlite::SqliteStore;
use crate::domain::audit::AuditEntry;
use crate::domain::member_standing::member_slot;
use crate::domain::operation::{ErasureStep, LoggedOperation, Operation};
use crate::domain::passkey::{MAX_PASSKEYS_PER_ACCOUNT, PasskeyInsertion, StoredPasskey};
use crate::domain::sign_in::OwnAccount;
use crate::ports::store::{AccountRows, AuditFilter, AuditReader, BatchWriter, PasskeyRows};

const NOW: u64 = 1_700_000_000_000;

/// What the contract needs of the tables.
trait PasskeyTables: PasskeyRows + AccountRows + AuditReader + BatchWriter {}

impl<T: PasskeyRows + AccountRows + AuditReader + BatchWriter> PasskeyTables for T {}

/// The n-th passkey of an account.
fn new(account: MemberId, n: u64) -> StoredPasskey {
    StoredPasskey {
        account,
        id: PasskeyId::new(n + 1).unwrap(),
        credential: [account.get().to_be_bytes(), n.to_be_bytes()].concat(),
        name: format!("电话 {n}'"),
        record: format!("{{\"counter\":{n},\"key\":\"Ab\"}}"),
        created_at: NOW + n,
        used_at: None,
    }
}

fn entry(account: MemberId, n: u64, action: &'static str) -> AuditEntry {
    let id = CommentId::from_parts(NOW + n, member_slot(account), 0, account.get() % 64);
    let actor = MemberRef { id: account, name: "Ann".into() };
    AuditEntry { id: id.into(), actor, action, reason: None, before: None, after: Some(json!({"n": n})) }
}

async fn insert(tables: &dyn PasskeyTables, passkey: &StoredPasskey) -> PasskeyInsertion {
    let audit = entry(passkey.account, passkey.id.get(), "add_passkey");
    tables.insert_passkey(passkey, &audit).await.unwrap()
}

async fn check_passkeys(tables: &dyn PasskeyTables) {
    let [of, other, erased, missing] = [1, 2, 3, 4].map(MemberId::account);
    for id in [of, other, erased] {
        let account = OwnAccount { id, name: "Ann".into(), avatar: None, role: Role::Admin, created_at: NOW };
        assert!(tables.insert_account(&account).await.unwrap());
    }
    assert_eq!(insert(tables, &new(missing, 0)).await, PasskeyInsertion::NoAccount);
    assert_eq!(tables.list_passkeys(missing).await.unwrap(), []);
    let most = MAX_PASSKEYS_PER_ACCOUNT as u64;
    for n in (0..most).rev() {
        assert_eq!(insert(tables, &new(of, n)).await, PasskeyInsertion::Inserted);
    }
    assert_eq!(tables.list_passkeys(of).await.unwrap(), (0..most).map(|n| new(of, n)).collect::<Vec<_>>());
    let same = StoredPasskey { id: PasskeyId::new(99).unwrap(), ..new(of, 3) };
    assert_eq!(insert(tables, &same).await, PasskeyInsertion::Known);
    assert_eq!(insert(tables, &new(of, most)).await, PasskeyInsertion::Full);
    // Another account may have the same one.
    let shared = StoredPasskey { account: other, ..new(of, 3) };
    assert_eq!(insert(tables, &shared).await, PasskeyInsertion::Inserted);
    let filter = AuditFilter { actor: Some(of), ..AuditFilter::default() };
    let entries = tables.list_audit(&filter, None, 100).await.unwrap();
    assert_eq!(entries.len(), MAX_PASSKEYS_PER_ACCOUNT, "none of what was not stored");
    assert_eq!((&*entries[0].action, &*entries[0].target.id), ("add_passkey", &*of.to_string()));
    assert_eq!((entries[0].at, &entries[0].after), (NOW + most, &Some(json!({"n": most}))));

    // Of several at once, as many are stored as there is room for.
    let (first, second) = (new(erased, 0), new(erased, 1));
    for n in 2..most {
        assert_eq!(insert(tables, &new(erased, n + 10)).await, PasskeyInsertion::Inserted);
    }
    let third = new(erased, 2);
    let all = tokio::join!(insert(tables, &first), insert(tables, &second), insert(tables, &third));
    let all = [all.0, all.1, all.2];
    let count = |what| all.iter().filter(|outcome| **outcome == what).count();
    assert_eq!((count(PasskeyInsertion::Inserted), count(PasskeyInsertion::Full)), (2, 1));

    let StoredPasskey { id, record, .. } = new(of, 4);
    let case = record.to_lowercase();
    for (account, passkey, former) in
        [(other, id, &record), (of, PasskeyId::new(77).unwrap(), &record), (of, id, &case)]
    {
        assert!(!tables.use_passkey(account, passkey, former, "{}", NOW + 50).await.unwrap(), "{former}");
    }
    let both = tokio::join!(
        tables.use_passkey(of, id, &record, "{\"counter\":\"5\"}", NOW + 50),
        tables.use_passkey(of, id, &record, "{\"counter\":\"6\"}", NOW + 50)
    );
    assert_ne!(both.0.unwrap(), both.1.unwrap(), "one of them");
    let used = tables.list_passkeys(of).await.unwrap().remove(4);
    assert_eq!(used.used_at, Some(NOW + 50));
    assert!(tables.use_passkey(of, id, &used.record, &used.record, NOW + 51).await.unwrap(), "nothing but the time");
    assert_eq!(tables.list_passkeys(of).await.unwrap()[4].used_at, Some(NOW + 51));

    assert!(tables.rename_passkey(of, id, "Zoë").await.unwrap());
    assert!(tables.rename_passkey(of, id, "Zoë").await.unwrap());
    assert!(!tables.rename_passkey(other, id, "Eve").await.unwrap());
    assert_eq!(tables.list_passkeys(of).await.unwrap()[4].name, "Zoë");
    assert!(!tables.delete_passkey(missing, id, &entry(missing, 200, "remove_passkey")).await.unwrap());
    assert!(tables.delete_passkey(of, id, &entry(of, 201, "remove_passkey")).await.unwrap());
    assert!(!tables.delete_passkey(of, id, &entry(of, 202, "remove_passkey")).await.unwrap());
    let entries = tables.list_audit(&filter, None, 100).await.unwrap();
    assert_eq!((entries.len(), &*entries[0].action, entries[0].at), (11, "remove_passkey", NOW + 201));

    tables.delete_passkeys_before(of, NOW + 7).await.unwrap();
    let left: Vec<_> = tables.list_passkeys(of).await.unwrap().iter().map(|passkey| passkey.created_at).collect();
    assert_eq!(left, [NOW + 7, NOW + 8, NOW + 9]);
    assert_eq!(tables.list_passkeys(other).await.unwrap(), [shared]);

    let erasure = Operation::Erasure { member: erased, step: ErasureStep::Name, audit: None };
    tables.persist(&[LoggedOperation::new(NOW, erasure)]).await.unwrap();
    assert_eq!(tables.list_passkeys(erased).await.unwrap(), []);
    assert_eq!(insert(tables, &new(erased, 3)).await, PasskeyInsertion::NoAccount);
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_holds_in_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("gailou.db"), Default::default()).unwrap();
    check_passkeys(&store).await;
}

#[cfg(feature = "cluster")]
#[tokio::test(flavor = "multi_thread")]
async fn contract_holds_in_mysql_and_passkeys_move_with_the_slot_of_their_account() {
    use crate::adapters::mysql::tests::TestDatabases;
    use crate::cluster::reshard::{delete_old_copies, relocate};
    use crate::ports::store::Sharding as _;

    let Some(databases) = TestDatabases::new(2) else { return };
    let store = databases.open().await;
    check_passkeys(&store).await;
    let of = MemberId::account(9);
    let account = OwnAccount { id: of, name: "Ann".into(), avatar: None, role: Role::Admin, created_at: NOW };
    assert!(store.insert_account(&account).await.unwrap());
    assert_eq!(insert(&store, &new(of, 0)).await, PasskeyInsertion::Inserted);
    let slot = member_slot(of);
    let from = store.database_of(slot);
    let moving = relocate(&store, slot, 1 - from);
    let writing = async {
        for n in 1..30 {
            assert_eq!(insert(&store, &new(of, n)).await, PasskeyInsertion::Inserted);
            let StoredPasskey { id, record, .. } = new(of, n - 1);
            assert!(store.use_passkey(of, id, &record, "{}", NOW).await.unwrap());
            assert!(store.delete_passkey(of, id, &entry(of, 100 + n, "remove_passkey")).await.unwrap());
        }
    };
    let (moved, ()) = tokio::join!(moving, writing);
    moved.unwrap();
    assert_eq!(store.database_of(slot), 1 - from);
    delete_old_copies(&store, &[slot]).await.unwrap();
    assert_eq!(store.list_passkeys(of).await.unwrap(), [new(of, 29)]);
    databases.drop_all().await;
}
