-- The tables of a new database: what all migrations of this folder together make, whose comments say what they are for.
-- A test compares both. It is to be changed with every migration.

CREATE TABLE IF NOT EXISTS account_{n} (
    id BIGINT NOT NULL,
    slot SMALLINT NOT NULL,
    name TEXT CHARACTER SET utf8mb4 NOT NULL,
    avatar TEXT CHARACTER SET utf8mb4,
    role TINYINT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (id),
    KEY account_slot (slot, id),
    KEY account_role (role, id)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS activity (
    step TINYINT NOT NULL,
    at BIGINT NOT NULL,
    part TINYINT NOT NULL,
    posts BIGINT NOT NULL,
    held BIGINT NOT NULL,
    rejected BIGINT NOT NULL,
    reports BIGINT NOT NULL,
    reactions BIGINT NOT NULL,
    PRIMARY KEY (step, at, part)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS alias_{n} (
    slot SMALLINT NOT NULL DEFAULT ((id >> 12) & 1023),
    id BIGINT NOT NULL,
    comment_id BIGINT NOT NULL,
    PRIMARY KEY (slot, id)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS audit_{n} (
    slot SMALLINT NOT NULL DEFAULT ((id >> 12) & 1023),
    id BIGINT NOT NULL,
    at BIGINT NOT NULL,
    actor_id BIGINT NOT NULL,
    actor_name VARCHAR(255) CHARACTER SET utf8mb4 NOT NULL,
    action VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    kind TINYINT NOT NULL,
    comment_id BIGINT,
    target VARBINARY(640) NOT NULL,
    reason TEXT CHARACTER SET utf8mb4,
    before_json MEDIUMTEXT CHARACTER SET utf8mb4,
    after_json MEDIUMTEXT CHARACTER SET utf8mb4,
    PRIMARY KEY (slot, id),
    KEY audit_id (id),
    KEY audit_actor (actor_id, id),
    KEY audit_action (action, id),
    KEY audit_comment (comment_id)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS author_network_{n} (
    slot SMALLINT NOT NULL DEFAULT ((comment_id >> 12) & 1023),
    comment_id BIGINT NOT NULL,
    digest BINARY(16) NOT NULL,
    PRIMARY KEY (slot, comment_id),
    KEY author_network_age (comment_id)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS checkpoint (
    topic TINYINT NOT NULL,
    part INT NOT NULL,
    next BIGINT NOT NULL,
    moves BIGINT NOT NULL DEFAULT 0,
    samples VARBINARY(1024) NOT NULL DEFAULT '',
    PRIMARY KEY (topic, part)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS comment_{n} (
    id BIGINT NOT NULL,
    subject BIGINT NOT NULL,
    list BIGINT NOT NULL,
    root_id BIGINT NOT NULL,
    parent_id BIGINT,
    path VARBINARY(1024) NOT NULL,
    depth SMALLINT NOT NULL,
    floor BIGINT,
    listed_floor BIGINT,
    floors BIGINT NOT NULL DEFAULT 0,
    state TINYINT NOT NULL,
    visibility TINYINT NOT NULL,
    flags SMALLINT NOT NULL DEFAULT 0,
    pinned_at BIGINT,
    author_id BIGINT NOT NULL,
    author_name VARCHAR(255) CHARACTER SET utf8mb4 NOT NULL,
    author_avatar TEXT CHARACTER SET utf8mb4,
    author_level SMALLINT NOT NULL,
    reply_to_id BIGINT,
    reply_to_name VARCHAR(255) CHARACTER SET utf8mb4,
    likes BIGINT NOT NULL DEFAULT 0,
    dislikes BIGINT NOT NULL DEFAULT 0,
    base_likes BIGINT NOT NULL DEFAULT 0,
    base_dislikes BIGINT NOT NULL DEFAULT 0,
    reacted BIGINT NOT NULL DEFAULT 0,
    replies BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    edited_at BIGINT,
    edits INT NOT NULL DEFAULT 0,
    author_role TINYINT NOT NULL DEFAULT 0,
    audit_id BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (id),
    KEY comment_list (list, listed_floor, id),
    KEY comment_path (subject, path),
    KEY comment_pinned (subject, pinned_at),
    KEY comment_parent (parent_id, id),
    KEY comment_author (subject, author_id, state, visibility, id)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS content_history_{n} (
    comment_id BIGINT NOT NULL,
    edited_at BIGINT NOT NULL,
    content MEDIUMTEXT CHARACTER SET utf8mb4 NOT NULL,
    edit INT NOT NULL DEFAULT 0,
    was_shown TINYINT NOT NULL DEFAULT 0,
    PRIMARY KEY (comment_id, edit, edited_at),
    KEY content_history_age (edited_at)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS content_{n} (
    id BIGINT NOT NULL,
    content MEDIUMTEXT CHARACTER SET utf8mb4 NOT NULL,
    html MEDIUMTEXT CHARACTER SET utf8mb4 NOT NULL,
    mentions TEXT CHARACTER SET utf8mb4,
    written MEDIUMTEXT CHARACTER SET utf8mb4,
    media TEXT CHARACTER SET utf8mb4,
    PRIMARY KEY (id)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS dead_reaction_{n} (
    slot SMALLINT NOT NULL DEFAULT ((comment_id >> 12) & 1023),
    member_id BIGINT NOT NULL,
    comment_id BIGINT NOT NULL,
    position BIGINT NOT NULL,
    PRIMARY KEY (slot, member_id, comment_id, position)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS erased_member (
    member_id BIGINT NOT NULL,
    at BIGINT NOT NULL,
    done TINYINT NOT NULL DEFAULT 0,
    PRIMARY KEY (member_id),
    KEY erased_member_order (at, member_id),
    KEY erased_member_unfinished (done, at, member_id)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS event (
    seq BIGINT NOT NULL AUTO_INCREMENT,
    id BIGINT NOT NULL,
    at BIGINT NOT NULL,
    comment_id BIGINT NOT NULL,
    kind TINYINT NOT NULL,
    actor_id BIGINT,
    queued_at BIGINT NOT NULL,
    PRIMARY KEY (seq)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS feed (
    seq BIGINT NOT NULL AUTO_INCREMENT,
    at BIGINT NOT NULL,
    type VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    `key` VARBINARY(512) NOT NULL,
    version BIGINT NOT NULL,
    comment_id BIGINT NOT NULL,
    PRIMARY KEY (seq),
    KEY feed_age (at)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS idempotency_{n} (
    member_id BIGINT NOT NULL,
    `key` VARBINARY(128) NOT NULL,
    slot SMALLINT NOT NULL,
    request BINARY(32) NOT NULL,
    comment_id BIGINT NOT NULL,
    state TINYINT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (member_id, `key`, slot),
    KEY idempotency_slot (slot),
    KEY idempotency_age (created_at)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS identity_{n} (
    digest BINARY(32) NOT NULL,
    slot SMALLINT NOT NULL,
    account_id BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (digest),
    KEY identity_slot (slot, digest),
    KEY identity_account (account_id)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS import_source_{n} (
    subject BIGINT NOT NULL,
    source VARBINARY(512) NOT NULL,
    comment_id BIGINT NOT NULL,
    PRIMARY KEY (subject, source),
    KEY import_source_comment (comment_id)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS index_queue (
    seq BIGINT NOT NULL AUTO_INCREMENT,
    at BIGINT NOT NULL,
    comment_id BIGINT NOT NULL,
    PRIMARY KEY (seq)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS installation_audit (
    id BIGINT NOT NULL,
    at BIGINT NOT NULL,
    actor_id BIGINT NOT NULL,
    actor_name VARCHAR(255) CHARACTER SET utf8mb4 NOT NULL,
    action VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    kind TINYINT NOT NULL,
    target VARBINARY(640) NOT NULL,
    reason TEXT CHARACTER SET utf8mb4,
    before_json MEDIUMTEXT CHARACTER SET utf8mb4,
    after_json MEDIUMTEXT CHARACTER SET utf8mb4,
    PRIMARY KEY (id),
    KEY installation_audit_actor (actor_id, id),
    KEY installation_audit_action (action, id)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS job_lease (
    job VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    holder VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    held_until BIGINT NOT NULL,
    PRIMARY KEY (job)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS mark (
    slot SMALLINT NOT NULL,
    kind TINYINT NOT NULL,
    a BIGINT NOT NULL,
    b BIGINT NOT NULL,
    k VARBINARY(128) NOT NULL,
    PRIMARY KEY (slot, kind, a, b, k)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS media (
    id BIGINT NOT NULL,
    owner_id BIGINT NOT NULL,
    name VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    width INT NOT NULL,
    height INT NOT NULL,
    alt TEXT CHARACTER SET utf8mb4 NOT NULL,
    uses VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
    unused_since BIGINT,
    check_at BIGINT NOT NULL,
    is_deleted TINYINT NOT NULL DEFAULT 0,
    PRIMARY KEY (id),
    KEY media_check (check_at),
    KEY media_owner (owner_id)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS member_comment_{n} (
    member_id BIGINT NOT NULL,
    comment_id BIGINT NOT NULL,
    slot SMALLINT NOT NULL,
    held TINYINT NOT NULL,
    PRIMARY KEY (member_id, comment_id),
    KEY member_comment_held (member_id, held, comment_id),
    KEY member_comment_slot (slot)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS member_contact_{n} (
    id BIGINT NOT NULL,
    slot SMALLINT NOT NULL,
    email VARCHAR(254) CHARACTER SET ascii COLLATE ascii_bin,
    notify TINYINT,
    language VARCHAR(35) CHARACTER SET ascii COLLATE ascii_bin,
    PRIMARY KEY (id),
    KEY member_contact_slot (slot, id)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS member_name (
    digest BINARY(16) NOT NULL,
    member_id BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    PRIMARY KEY (digest, member_id),
    KEY member_name_age (seen_at),
    KEY member_name_member (member_id)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS member_standing_{n} (
    id BIGINT NOT NULL,
    slot SMALLINT NOT NULL,
    changed_at BIGINT NOT NULL,
    level SMALLINT,
    role TINYINT,
    muted_until BIGINT,
    tokens_not_before BIGINT,
    note TEXT CHARACTER SET utf8mb4,
    friends MEDIUMTEXT CHARACTER SET ascii,
    PRIMARY KEY (id),
    KEY member_standing_slot (slot, id),
    KEY member_standing_change (changed_at, id)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS member_{n} (
    id BIGINT NOT NULL,
    slot SMALLINT NOT NULL,
    name VARCHAR(255) CHARACTER SET utf8mb4 NOT NULL,
    avatar TEXT CHARACTER SET utf8mb4,
    level SMALLINT NOT NULL,
    named_by BIGINT NOT NULL DEFAULT 0,
    name_key VARBINARY(64) NOT NULL DEFAULT '',
    PRIMARY KEY (id),
    KEY member_slot (slot),
    KEY member_name_key (name_key, id)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS mention_{n} (
    member_id BIGINT NOT NULL,
    comment_id BIGINT NOT NULL,
    slot SMALLINT NOT NULL DEFAULT ((comment_id >> 12) & 1023),
    PRIMARY KEY (member_id, comment_id),
    KEY mention_slot (slot, comment_id)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS merged_guest (
    guest_id BIGINT NOT NULL,
    member_id BIGINT NOT NULL,
    name VARCHAR(255) CHARACTER SET utf8mb4 NOT NULL DEFAULT '',
    avatar TEXT CHARACTER SET utf8mb4,
    level SMALLINT NOT NULL DEFAULT 0,
    role TINYINT NOT NULL DEFAULT 0,
    at BIGINT NOT NULL,
    done TINYINT NOT NULL DEFAULT 0,
    PRIMARY KEY (guest_id),
    KEY merged_guest_member (member_id),
    KEY merged_guest_order (at, guest_id),
    KEY merged_guest_unfinished (done, at, guest_id)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS move_number (
    id TINYINT NOT NULL,
    last BIGINT NOT NULL,
    PRIMARY KEY (id)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS node (
    node SMALLINT NOT NULL,
    holder VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    expires_at BIGINT NOT NULL,
    last_ms BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (node)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS node_server (
    id TINYINT NOT NULL,
    server VARCHAR(255) CHARACTER SET utf8mb4 NOT NULL,
    since BIGINT NOT NULL,
    PRIMARY KEY (id)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS notification_{n} (
    member_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    slot SMALLINT NOT NULL,
    kind TINYINT NOT NULL,
    comment_id BIGINT NOT NULL,
    at BIGINT NOT NULL,
    is_read TINYINT NOT NULL DEFAULT 0,
    mail_at BIGINT,
    mail_tries SMALLINT NOT NULL DEFAULT 0,
    mailed_at BIGINT,
    PRIMARY KEY (member_id, id),
    KEY notification_slot (slot, member_id, id),
    KEY notification_mail (mail_at, member_id)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS outbox (
    seq BIGINT NOT NULL AUTO_INCREMENT,
    at BIGINT NOT NULL,
    member_slot SMALLINT NOT NULL,
    member_id BIGINT NOT NULL,
    comment_id BIGINT NOT NULL,
    held TINYINT NOT NULL,
    name VARCHAR(255) CHARACTER SET utf8mb4,
    avatar TEXT CHARACTER SET utf8mb4,
    level SMALLINT NOT NULL DEFAULT 0,
    PRIMARY KEY (seq),
    KEY outbox_member (member_slot, member_id, comment_id)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS passkey_{n} (
    account_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    slot SMALLINT NOT NULL,
    credential VARBINARY(1023) NOT NULL,
    name TEXT CHARACTER SET utf8mb4 NOT NULL,
    record TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    created_at BIGINT NOT NULL,
    used_at BIGINT,
    PRIMARY KEY (account_id, id),
    KEY passkey_slot (slot, account_id, id)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS reaction_{n} (
    slot SMALLINT NOT NULL DEFAULT ((comment_id >> 12) & 1023),
    comment_id BIGINT NOT NULL,
    member_id BIGINT NOT NULL,
    reaction TINYINT NOT NULL,
    PRIMARY KEY (slot, comment_id, member_id),
    KEY reaction_member (member_id, comment_id)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS refresh_family_{n} (
    account_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    slot SMALLINT NOT NULL,
    digest BINARY(32) NOT NULL,
    created_at BIGINT NOT NULL,
    used_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id),
    KEY refresh_family_slot (slot, account_id, id),
    KEY refresh_family_age (used_at)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS refused_text (
    id BIGINT NOT NULL,
    at BIGINT NOT NULL,
    author_id BIGINT NOT NULL,
    record MEDIUMTEXT CHARACTER SET utf8mb4 NOT NULL,
    PRIMARY KEY (id),
    KEY refused_text_age (at),
    KEY refused_text_author (author_id, at)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS reply_rank_{n} (
    slot SMALLINT NOT NULL DEFAULT ((root_id >> 12) & 1023),
    root_id BIGINT NOT NULL,
    hot BIGINT NOT NULL,
    id BIGINT NOT NULL,
    PRIMARY KEY (slot, root_id, hot, id)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS report_{n} (
    slot SMALLINT NOT NULL DEFAULT ((comment_id >> 12) & 1023),
    comment_id BIGINT NOT NULL,
    member_id BIGINT NOT NULL,
    member_name VARCHAR(255) CHARACTER SET utf8mb4 NOT NULL,
    reason TINYINT NOT NULL,
    note TEXT CHARACTER SET utf8mb4,
    at BIGINT NOT NULL,
    PRIMARY KEY (slot, comment_id, member_id),
    KEY report_member (member_id, comment_id)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS review_count_{n} (
    slot SMALLINT NOT NULL,
    held BIGINT NOT NULL,
    reported BIGINT NOT NULL,
    PRIMARY KEY (slot)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS review_{n} (
    slot SMALLINT NOT NULL DEFAULT ((comment_id >> 12) & 1023),
    comment_id BIGINT NOT NULL,
    kind TINYINT NOT NULL,
    rank_key BIGINT NOT NULL,
    since BIGINT NOT NULL,
    item MEDIUMTEXT CHARACTER SET utf8mb4 NOT NULL,
    leased_by BIGINT,
    leased_name VARCHAR(255) CHARACTER SET utf8mb4,
    leased_until BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (slot, comment_id),
    KEY review_order (rank_key, since, comment_id),
    KEY review_kind_order (kind, rank_key, since, comment_id)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS root_rank_{n} (
    subject BIGINT NOT NULL,
    id BIGINT NOT NULL,
    likes BIGINT NOT NULL,
    dislikes BIGINT NOT NULL,
    replies BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    hot BIGINT NOT NULL DEFAULT 0,
    best BIGINT NOT NULL DEFAULT 0,
    controversial BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (subject, id),
    KEY root_rank_hot (subject, hot, id),
    KEY root_rank_likes (subject, likes, id),
    KEY root_rank_best (subject, best, id),
    KEY root_rank_replies (subject, replies, id),
    KEY root_rank_controversial (subject, controversial, id)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS setting (
    name VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (name)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS setting_changes (
    id TINYINT NOT NULL,
    version BIGINT NOT NULL,
    changes_json MEDIUMTEXT CHARACTER SET utf8mb4 NOT NULL,
    PRIMARY KEY (id)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS sign_in_link_{n} (
    digest BINARY(32) NOT NULL,
    slot SMALLINT NOT NULL,
    record TEXT CHARACTER SET utf8mb4 NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (digest),
    KEY sign_in_link_slot (slot, digest),
    KEY sign_in_link_age (created_at)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS slot (
    slot SMALLINT NOT NULL,
    state TINYINT NOT NULL,
    comments BIGINT NOT NULL DEFAULT 0,
    reactions BIGINT NOT NULL DEFAULT 0,
    move BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (slot)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS slot_map (
    slot SMALLINT NOT NULL,
    shard SMALLINT NOT NULL,
    version BIGINT NOT NULL,
    move BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (slot)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS snapshot_{n} (
    slot SMALLINT NOT NULL,
    id BINARY(16) NOT NULL,
    ids BLOB NOT NULL,
    used_at BIGINT NOT NULL,
    PRIMARY KEY (slot, id),
    KEY snapshot_age (used_at)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS subject_{n} (
    id BIGINT NOT NULL,
    slot SMALLINT NOT NULL,
    type VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    `key` VARBINARY(512) NOT NULL,
    title TEXT CHARACTER SET utf8mb4,
    url TEXT CHARACTER SET utf8mb4,
    owner_id BIGINT,
    state TINYINT NOT NULL DEFAULT 0,
    mode TINYINT,
    version BIGINT NOT NULL DEFAULT 0,
    floors BIGINT NOT NULL DEFAULT 0,
    roots BIGINT NOT NULL DEFAULT 0,
    comments BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (id),
    KEY subject_slot (slot)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS undo_{n} (
    slot SMALLINT NOT NULL DEFAULT ((audit_id >> 12) & 1023),
    audit_id BIGINT NOT NULL,
    comment_id BIGINT NOT NULL,
    record MEDIUMTEXT CHARACTER SET utf8mb4 NOT NULL,
    PRIMARY KEY (slot, audit_id),
    KEY undo_comment (comment_id),
    KEY undo_age (audit_id)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS watch_{n} (
    member_id BIGINT NOT NULL,
    type VARBINARY(32) NOT NULL,
    `key` VARBINARY(512) NOT NULL,
    slot SMALLINT NOT NULL,
    subject BIGINT NOT NULL,
    id BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    since BIGINT NOT NULL,
    is_waiting TINYINT NOT NULL DEFAULT 0,
    notified_id BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (member_id, type, `key`),
    KEY watch_slot (slot, member_id, type, `key`),
    KEY watch_subject (subject, is_waiting, member_id)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS webhook (
    id BIGINT NOT NULL,
    url TEXT CHARACTER SET utf8mb4 NOT NULL,
    events VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    template VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin,
    secret VARBINARY(64) NOT NULL,
    created_at BIGINT NOT NULL,
    failing_since BIGINT,
    dropped BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (id)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS webhook_delivery (
    number BIGINT NOT NULL AUTO_INCREMENT,
    id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    webhook_id BIGINT NOT NULL,
    comment_id BIGINT NOT NULL,
    event TINYINT NOT NULL,
    event_at BIGINT NOT NULL,
    status TINYINT NOT NULL,
    attempts INT NOT NULL DEFAULT 0,
    last_status SMALLINT,
    next_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (number),
    UNIQUE KEY webhook_delivery_id (id),
    KEY webhook_delivery_due (webhook_id, status, next_at),
    KEY webhook_delivery_list (webhook_id, number),
    KEY webhook_delivery_age (created_at)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS word (
    term VARBINARY(512) NOT NULL,
    category VARCHAR(64) CHARACTER SET utf8mb4 NOT NULL,
    action VARCHAR(16) CHARACTER SET ascii NOT NULL,
    PRIMARY KEY (term)
) ENGINE = InnoDB;

INSERT IGNORE INTO move_number (id, last) VALUES (0, 0);
