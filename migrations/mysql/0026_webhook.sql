-- Webhooks: addresses to which events are sent. They and their deliveries are in the first database, so that no slot has
-- to move with them. `id` is made as that of a comment, `events` and `template` are JSON. `failing_since` is NULL while
-- the last try was a success; `dropped` counts the events for which there was no room.
CREATE TABLE IF NOT EXISTS webhook (
    id            BIGINT        NOT NULL PRIMARY KEY,
    url           TEXT          CHARACTER SET utf8mb4 NOT NULL,
    events        VARCHAR(255)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    template      VARCHAR(32)   CHARACTER SET ascii COLLATE ascii_bin,
    secret        VARBINARY(64) NOT NULL,
    created_at    BIGINT        NOT NULL,
    failing_since BIGINT,
    dropped       BIGINT        NOT NULL DEFAULT 0
) ENGINE = InnoDB;
-- An event for one webhook, kept for 7 days. `id` is made from both, so that none is written twice. While it is pending,
-- `next_at` is when it is due, or until when a process that sends it has it; it is given up at `expires_at`. What is sent
-- is made from the comment when it is sent.
CREATE TABLE IF NOT EXISTS webhook_delivery (
    number      BIGINT      NOT NULL AUTO_INCREMENT PRIMARY KEY,
    id          VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    webhook_id  BIGINT      NOT NULL,
    comment_id  BIGINT      NOT NULL,
    event       TINYINT     NOT NULL,
    event_at    BIGINT      NOT NULL,
    status      TINYINT     NOT NULL,
    attempts    INT         NOT NULL DEFAULT 0,
    last_status SMALLINT,
    next_at     BIGINT      NOT NULL,
    expires_at  BIGINT      NOT NULL,
    created_at  BIGINT      NOT NULL,
    UNIQUE KEY webhook_delivery_id (id),
    KEY webhook_delivery_due (webhook_id, status, next_at),
    KEY webhook_delivery_list (webhook_id, number),
    KEY webhook_delivery_age (created_at)
) ENGINE = InnoDB;
