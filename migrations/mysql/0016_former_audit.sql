-- The audit log is in numbered tables.
DROP TABLE IF EXISTS audit;
