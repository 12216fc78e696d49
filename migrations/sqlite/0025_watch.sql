-- Threads that members watch. `id` is of the time at which the watch began; the list of a member is sorted by it.
-- `is_waiting`: the member has not read yet what they were notified of, which is `notified_id` (0: nothing so far), and is
-- notified of nothing more until then. `since` is when they began to watch, or read that last, in Unix milliseconds.
CREATE TABLE watch (
    member_id   INTEGER NOT NULL,
    type        TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    id          INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    since       INTEGER NOT NULL,
    is_waiting  INTEGER NOT NULL DEFAULT 0,
    notified_id INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (member_id, type, key)
) WITHOUT ROWID;
CREATE INDEX watch_subject ON watch (type, key, is_waiting, member_id);
