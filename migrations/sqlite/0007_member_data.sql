-- The reactions of a member.
CREATE INDEX reaction_member ON reaction (member_id, comment_id);

-- Which comments mention a member.
CREATE TABLE mention (
    member_id  INTEGER NOT NULL,
    comment_id INTEGER NOT NULL,
    PRIMARY KEY (member_id, comment_id)
) WITHOUT ROWID;
INSERT OR IGNORE INTO mention (member_id, comment_id)
    SELECT CAST(json_extract(m.value, '$.id') AS INTEGER), t.id FROM content t, json_each(t.mentions) m
    WHERE t.mentions IS NOT NULL;

-- Erased members, for ever. `at` is when the erasure was requested; `done` is 1 when nothing is left.
CREATE TABLE erased_member (
    member_id INTEGER PRIMARY KEY,
    at        INTEGER NOT NULL,
    done      INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX erased_member_order ON erased_member (at, member_id);
CREATE INDEX erased_member_unfinished ON erased_member (at, member_id) WHERE done = 0;
