-- Where comments were posted from: a keyed hash of the client's network, by which a moderator blocks it. Rows of comments that
-- are older than 30 days are deleted; ids begin with the time.
CREATE TABLE author_network (
    comment_id INTEGER PRIMARY KEY,
    digest     BLOB    NOT NULL
);
