-- What moderators say of a member. `role` is 0 member, 1 moderator, 2 admin; `friends` is JSON, a list of ids.
CREATE TABLE member_standing (
    id                INTEGER PRIMARY KEY,
    changed_at        INTEGER NOT NULL,
    level             INTEGER,
    role              INTEGER,
    muted_until       INTEGER,
    tokens_not_before INTEGER,
    note              TEXT,
    friends           TEXT
);
CREATE INDEX member_standing_change ON member_standing (changed_at, id);

-- What members are found by: the first 64 bytes of the name in lower case.
ALTER TABLE member ADD COLUMN name_key BLOB NOT NULL DEFAULT x'';
CREATE INDEX member_name_key ON member (name_key, id);

-- The comments of an author that every reader sees in a subject.
CREATE INDEX comment_of_author ON comment (subject, author_id, id) WHERE state = 0 AND visibility = 0;

-- Entries about members.
CREATE INDEX audit_member ON audit (target) WHERE kind = 1;
