-- Texts that the word filter refused, kept for 30 days. `id` is made as that of a comment, `record` is JSON.
CREATE TABLE refused_text (
    id        INTEGER PRIMARY KEY,
    at        INTEGER NOT NULL,
    author_id INTEGER NOT NULL,
    record    TEXT    NOT NULL
);
CREATE INDEX refused_text_age    ON refused_text (at);
CREATE INDEX refused_text_author ON refused_text (author_id, at);
