-- Guests who have become members, for ever: their tokens are refused. `at` is when it was requested; `done` is 1 when
-- nothing is left of the guest. The name, the picture, the level and the role are those that the member had then.
CREATE TABLE merged_guest (
    guest_id  INTEGER PRIMARY KEY,
    member_id INTEGER NOT NULL,
    name      TEXT    NOT NULL,
    avatar    TEXT,
    level     INTEGER NOT NULL,
    role      INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    done      INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX merged_guest_member ON merged_guest (member_id);
CREATE INDEX merged_guest_order ON merged_guest (at, guest_id);
CREATE INDEX merged_guest_unfinished ON merged_guest (at, guest_id) WHERE done = 0;
