-- What admins have changed of the settings. One row; the first database has the truth, the others have copies.
CREATE TABLE IF NOT EXISTS setting_changes (
    id           TINYINT    NOT NULL PRIMARY KEY,
    version      BIGINT     NOT NULL,
    changes_json MEDIUMTEXT CHARACTER SET utf8mb4 NOT NULL
) ENGINE = InnoDB;
