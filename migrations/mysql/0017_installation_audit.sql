-- The audit log of what belongs to the installation and to no slot: the dictionary. Only the first database has rows.
CREATE TABLE IF NOT EXISTS installation_audit (
    id          BIGINT       NOT NULL PRIMARY KEY,
    at          BIGINT       NOT NULL,
    actor_id    BIGINT       NOT NULL,
    actor_name  VARCHAR(255) CHARACTER SET utf8mb4 NOT NULL,
    action      VARCHAR(32)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    kind        TINYINT      NOT NULL,
    target      VARBINARY(640) NOT NULL,
    reason      TEXT         CHARACTER SET utf8mb4,
    before_json MEDIUMTEXT   CHARACTER SET utf8mb4,
    after_json  MEDIUMTEXT   CHARACTER SET utf8mb4,
    KEY installation_audit_actor (actor_id, id),
    KEY installation_audit_action (action, id)
) ENGINE = InnoDB;
