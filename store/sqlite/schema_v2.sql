-- Schema 2: what a person should look at is found without reading all records. The
-- program decides what that is; 1: it should be looked at.

ALTER TABLE conversations ADD COLUMN attention INTEGER NOT NULL DEFAULT 0;

UPDATE conversations SET attention = 1 WHERE json_extract(record, '$.phase') = 'failed';

CREATE INDEX conversations_by_attention ON conversations (active_ms) WHERE attention = 1
