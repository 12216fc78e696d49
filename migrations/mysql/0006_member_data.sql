-- The reactions of a member.
ALTER TABLE reaction_{n} ADD KEY reaction_member (member_id, comment_id);

-- Which comments mention a member, in the tables of the comments.
CREATE TABLE IF NOT EXISTS mention_{n} (
    member_id  BIGINT NOT NULL,
    comment_id BIGINT NOT NULL,
    PRIMARY KEY (member_id, comment_id),
    KEY mention_comment (comment_id)
) ENGINE = InnoDB;
INSERT IGNORE INTO mention_{n} (member_id, comment_id)
    SELECT m.id, t.id FROM content_{n} t, JSON_TABLE(t.mentions, '$[*]' COLUMNS (id BIGINT PATH '$.id')) m
    WHERE t.mentions IS NOT NULL;

-- Erased members, for ever. `at` is when the erasure was requested; `done` is 1 when nothing is left. Only the
-- first database has rows.
CREATE TABLE IF NOT EXISTS erased_member (
    member_id BIGINT  NOT NULL PRIMARY KEY,
    at        BIGINT  NOT NULL,
    done      TINYINT NOT NULL DEFAULT 0,
    KEY erased_member_order (at, member_id),
    KEY erased_member_unfinished (done, at, member_id)
) ENGINE = InnoDB;
