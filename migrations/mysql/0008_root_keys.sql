-- The keys by which roots are ranked. Without the setting, `gailou migrate` computes them.
ALTER TABLE root_rank_{n}
    ADD COLUMN hot           BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN best          BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN controversial BIGINT NOT NULL DEFAULT 0,
    ADD KEY root_rank_hot (subject, hot, id),
    ADD KEY root_rank_likes (subject, likes, id),
    ADD KEY root_rank_best (subject, best, id),
    ADD KEY root_rank_replies (subject, replies, id),
    ADD KEY root_rank_controversial (subject, controversial, id);
DELETE FROM setting WHERE name = 'weights';
