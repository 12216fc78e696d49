-- Comments that the search index has to read again: written with each change of a text or a state, removed when the
-- index has it. Numbers are never used again, so that an entry is removed by its number alone.
CREATE TABLE index_queue (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    at         INTEGER NOT NULL,
    comment_id INTEGER NOT NULL
);
