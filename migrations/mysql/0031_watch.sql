-- Threads that members watch, in the database of the member's slot. `subject` is the number of the subject's row, by which
-- its watchers are found; `id` is of the time at which the watch began; the list of a member is sorted by it.
-- `is_waiting`: the member has not read yet what they were notified of, which is `notified_id` (0: nothing so far), and is
-- notified of nothing more until then. `since` is when they began to watch, or read that last, in Unix milliseconds.
CREATE TABLE IF NOT EXISTS watch_{n} (
    member_id   BIGINT         NOT NULL,
    type        VARBINARY(32)  NOT NULL,
    `key`       VARBINARY(512) NOT NULL,
    slot        SMALLINT       NOT NULL,
    subject     BIGINT         NOT NULL,
    id          BIGINT         NOT NULL,
    created_at  BIGINT         NOT NULL,
    since       BIGINT         NOT NULL,
    is_waiting  TINYINT        NOT NULL DEFAULT 0,
    notified_id BIGINT         NOT NULL DEFAULT 0,
    PRIMARY KEY (member_id, type, `key`),
    KEY watch_slot (slot, member_id, type, `key`),
    KEY watch_subject (subject, is_waiting, member_id)
) ENGINE = InnoDB;
