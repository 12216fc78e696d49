-- The change feed: comments that readers no longer see, or see differently. `seq` is never reused.
CREATE TABLE feed (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    at         INTEGER NOT NULL,
    subject    INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    comment_id INTEGER NOT NULL
);
CREATE INDEX feed_age ON feed (at);
