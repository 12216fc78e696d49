-- Guests who have become members, for ever: their tokens are refused. `at` is when it was requested; `done` is 1 when
-- nothing is left of the guest. The name, the picture, the level and the role are those that the member had then; the
-- first database has them, the copies in the others do not.
CREATE TABLE IF NOT EXISTS merged_guest (
    guest_id  BIGINT       NOT NULL PRIMARY KEY,
    member_id BIGINT       NOT NULL,
    name      VARCHAR(255) CHARACTER SET utf8mb4 NOT NULL DEFAULT '',
    avatar    TEXT         CHARACTER SET utf8mb4,
    level     SMALLINT     NOT NULL DEFAULT 0,
    role      TINYINT      NOT NULL DEFAULT 0,
    at        BIGINT       NOT NULL,
    done      TINYINT      NOT NULL DEFAULT 0,
    KEY merged_guest_member (member_id),
    KEY merged_guest_order (at, guest_id),
    KEY merged_guest_unfinished (done, at, guest_id)
) ENGINE = InnoDB;
