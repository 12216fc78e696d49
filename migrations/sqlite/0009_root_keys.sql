-- The keys by which roots are ranked. They are computed when the weights are stored again.
ALTER TABLE root_rank ADD COLUMN hot           INTEGER NOT NULL DEFAULT 0;
ALTER TABLE root_rank ADD COLUMN best          INTEGER NOT NULL DEFAULT 0;
ALTER TABLE root_rank ADD COLUMN controversial INTEGER NOT NULL DEFAULT 0;
DELETE FROM setting WHERE name = 'weights';

-- Queries repeat the conditions word for word.
CREATE INDEX root_rank_hot           ON root_rank (subject, hot, id)           WHERE hot > 0;
CREATE INDEX root_rank_likes         ON root_rank (subject, likes, id)         WHERE likes > 0;
CREATE INDEX root_rank_best          ON root_rank (subject, best, id)          WHERE best > 0;
CREATE INDEX root_rank_replies       ON root_rank (subject, replies, id)       WHERE replies > 0;
CREATE INDEX root_rank_controversial ON root_rank (subject, controversial, id) WHERE controversial > 0;
