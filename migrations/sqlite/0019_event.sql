-- What members, moderators and other programs are to be told of: written in the transaction of what happened, removed
-- when the rows that it leads to are written. Numbers are never used again, so that an event is removed by its number
-- alone.
CREATE TABLE event (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    id         INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    comment_id INTEGER NOT NULL,
    kind       INTEGER NOT NULL,
    actor_id   INTEGER,
    queued_at  INTEGER NOT NULL
);
