-- What members, moderators and other programs are to be notified of what happened in this database: written in the
-- transaction of what happened, removed when the rows that it leads to are written. The events of a slot that moves
-- stay: a comment is read where it is.
CREATE TABLE IF NOT EXISTS event (
    seq        BIGINT  NOT NULL AUTO_INCREMENT PRIMARY KEY,
    id         BIGINT  NOT NULL,
    at         BIGINT  NOT NULL,
    comment_id BIGINT  NOT NULL,
    kind       TINYINT NOT NULL,
    actor_id   BIGINT,
    queued_at  BIGINT  NOT NULL
) ENGINE = InnoDB;
-- Which process does a job of this database alone, and until when, in Unix milliseconds of its clock.
CREATE TABLE IF NOT EXISTS job_lease (
    job        VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    holder     VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    held_until BIGINT       NOT NULL
) ENGINE = InnoDB;

-- What members are notified of, in the database of the member's slot. `id` is that of the event, so that what is written
-- twice is there once; `kind` is 0 for an answer, 1 for a mention, the number of the event for a decision; of what the
-- owner of the installation is mailed, 2 for a new comment, 3 for a held one. `mail_at` is when it is mailed, or until
-- when a process has claimed it for that; `mailed_at` is when it was.
CREATE TABLE IF NOT EXISTS notification_{n} (
    member_id  BIGINT   NOT NULL,
    id         BIGINT   NOT NULL,
    slot       SMALLINT NOT NULL,
    kind       TINYINT  NOT NULL,
    comment_id BIGINT   NOT NULL,
    at         BIGINT   NOT NULL,
    is_read    TINYINT  NOT NULL DEFAULT 0,
    mail_at    BIGINT,
    mail_tries SMALLINT NOT NULL DEFAULT 0,
    mailed_at  BIGINT,
    PRIMARY KEY (member_id, id),
    KEY notification_slot (slot, member_id, id),
    KEY notification_mail (mail_at, member_id)
) ENGINE = InnoDB;
