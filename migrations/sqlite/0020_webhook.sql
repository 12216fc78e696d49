-- Webhooks: addresses to which events are sent. `id` is made as that of a comment, `events` and `template` are JSON.
-- `failing_since` is NULL while the last try was a success; `dropped` counts the events for which there was no room.
CREATE TABLE webhook (
    id            INTEGER PRIMARY KEY,
    url           TEXT    NOT NULL,
    events        TEXT    NOT NULL,
    template      TEXT,
    secret        BLOB    NOT NULL,
    created_at    INTEGER NOT NULL,
    failing_since INTEGER,
    dropped       INTEGER NOT NULL DEFAULT 0
);
-- An event for one webhook, kept for 7 days. `id` is made from both, so that none is written twice. While it is pending,
-- `next_at` is when it is due, or until when a process that sends it has it; it is given up at `expires_at`. What is sent
-- is made from the comment when it is sent.
CREATE TABLE webhook_delivery (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    id          TEXT    NOT NULL UNIQUE,
    webhook_id  INTEGER NOT NULL,
    comment_id  INTEGER NOT NULL,
    event       INTEGER NOT NULL,
    event_at    INTEGER NOT NULL,
    status      INTEGER NOT NULL,
    attempts    INTEGER NOT NULL DEFAULT 0,
    last_status INTEGER,
    next_at     INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    created_at  INTEGER NOT NULL
);
CREATE INDEX webhook_delivery_due  ON webhook_delivery (webhook_id, status, next_at);
CREATE INDEX webhook_delivery_list ON webhook_delivery (webhook_id, number);
CREATE INDEX webhook_delivery_age  ON webhook_delivery (created_at);
