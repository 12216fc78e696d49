-- The direct replies of a comment.
CREATE INDEX comment_parent ON comment (parent_id, id) WHERE parent_id IS NOT NULL;

-- The comments of a member that no other reader sees. Queries repeat the condition word for word.
DROP INDEX comment_pending;
CREATE INDEX comment_pending ON comment (author_id, id) WHERE state = 1 OR (state = 0 AND visibility = 1);
