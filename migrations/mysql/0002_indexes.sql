-- The direct replies of a comment.
ALTER TABLE comment_{n} ADD KEY comment_parent (parent_id, id);
