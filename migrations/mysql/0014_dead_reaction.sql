-- Reactions among the dead letters, from the moment in which one is skipped until its member changes the reaction to
-- the comment: a letter without a row is outdated. `position` is where it became a dead letter.
CREATE TABLE IF NOT EXISTS dead_reaction_{n} (
    slot       SMALLINT NOT NULL DEFAULT ((comment_id >> 12) & 1023),
    member_id  BIGINT   NOT NULL,
    comment_id BIGINT   NOT NULL,
    position   BIGINT   NOT NULL,
    PRIMARY KEY (slot, member_id, comment_id, position)
) ENGINE = InnoDB;
