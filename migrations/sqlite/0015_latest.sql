-- The comments of a subject, whatever their state, newest last. The condition holds for every row and is there so that
-- only queries that repeat it can choose this index.
CREATE INDEX comment_of_subject ON comment (subject, id) WHERE id > 0;
