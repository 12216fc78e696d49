-- The names that members were seen with lately, by the digest of their skeleton: guests cannot take them.
-- Only the first database has rows.
CREATE TABLE IF NOT EXISTS member_name (
    digest    BINARY(16) NOT NULL,
    member_id BIGINT     NOT NULL,
    seen_at   BIGINT     NOT NULL,
    PRIMARY KEY (digest, member_id),
    KEY member_name_age (seen_at)
) ENGINE = InnoDB;
