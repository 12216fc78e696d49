-- What members, moderators and other programs are to be notified of: written in the transaction of what happened, removed
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

-- What members are notified of. `id` is that of the event, so that what is written twice is there once; `kind` is 0 for an
-- answer, 1 for a mention, the number of the event for a decision; of what the owner of the installation is mailed, 2
-- for a new comment, 3 for a held one. `mail_at` is when it is mailed, or until when a process has claimed it for that;
-- `mailed_at` is when it was.
CREATE TABLE notification (
    member_id  INTEGER NOT NULL,
    id         INTEGER NOT NULL,
    kind       INTEGER NOT NULL,
    comment_id INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    is_read    INTEGER NOT NULL DEFAULT 0,
    mail_at    INTEGER,
    mail_tries INTEGER NOT NULL DEFAULT 0,
    mailed_at  INTEGER,
    PRIMARY KEY (member_id, id)
) WITHOUT ROWID;
CREATE INDEX notification_mail ON notification (mail_at, member_id) WHERE mail_at IS NOT NULL;
