-- What moderators say of a member, in the database of the member's slot. `role` is 0 member, 1 moderator, 2 admin;
-- `friends` is JSON, a list of ids.
CREATE TABLE IF NOT EXISTS member_standing_{n} (
    id                BIGINT     NOT NULL PRIMARY KEY,
    slot              SMALLINT   NOT NULL,
    changed_at        BIGINT     NOT NULL,
    level             SMALLINT,
    role              TINYINT,
    muted_until       BIGINT,
    tokens_not_before BIGINT,
    note              TEXT       CHARACTER SET utf8mb4,
    friends           MEDIUMTEXT CHARACTER SET ascii,
    KEY member_standing_slot (slot, id),
    KEY member_standing_change (changed_at, id)
) ENGINE = InnoDB;

-- What members are found by: the first 64 bytes of the name in lower case, compared byte by byte on every server.
ALTER TABLE member_{n} ADD COLUMN name_key VARBINARY(64) NOT NULL DEFAULT '';
UPDATE member_{n} SET name_key = LEFT(CAST(LOWER(name) AS BINARY), 64) WHERE name_key = '' AND name <> '';
ALTER TABLE member_{n} ADD KEY member_name_key (name_key, id);

-- The comments of an author that every reader sees in a subject, newest last.
ALTER TABLE comment_{n} ADD KEY comment_author (subject, author_id, state, visibility, id);
