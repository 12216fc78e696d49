-- What readers saw and see no more, or otherwise. A number is never given twice.
CREATE TABLE feed (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    at         INTEGER NOT NULL,
    subject    INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    comment_id INTEGER NOT NULL
);
CREATE INDEX feed_age ON feed (at);
