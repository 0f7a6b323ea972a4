PRAGMA application_id = 829580656;
PRAGMA user_version = 1;
CREATE TABLE conversations (
  id           INTEGER PRIMARY KEY,
  bot          TEXT    NOT NULL,
  conversation TEXT    NOT NULL,
  phase        TEXT    NOT NULL, -- as people see it: idle, collecting, generating, sending, failed, paused
  active_ms    INTEGER NOT NULL, -- the last write
  last_seq     INTEGER NOT NULL, -- the greatest entries.seq ever given out
  schema       INTEGER NOT NULL, -- of the record
  op           BLOB    NOT NULL, -- the write that made this record; the next one must name it
  record       TEXT    NOT NULL, -- JSON: counters, window, lease, reply on its way
  attention    INTEGER NOT NULL, -- 1: a person should look at it, as the program decided with this write
  UNIQUE (bot, conversation)
) STRICT;
CREATE INDEX conversations_by_activity ON conversations (active_ms);
CREATE INDEX conversations_by_attention ON conversations (active_ms) WHERE attention = 1;
CREATE TABLE timers (
  conversation_id INTEGER PRIMARY KEY, -- conversations.id
  due_ms          INTEGER NOT NULL     -- when somebody must look at it
) STRICT;
CREATE INDEX timers_by_time ON timers (due_ms);
CREATE TABLE bodies (
  id   INTEGER PRIMARY KEY,
  body TEXT    NOT NULL -- JSON: text, sender, attachments, parts
) STRICT;
CREATE TABLE entries (
  conversation_id INTEGER NOT NULL, -- conversations.id
  seq             INTEGER NOT NULL, -- place in the transcript
  kind            TEXT    NOT NULL, -- message or reply
  id              TEXT    NOT NULL, -- of the message or the reply
  status          TEXT    NOT NULL,
  reason          TEXT,             -- why a reply has its status
  at_ms           INTEGER NOT NULL, -- when it was accepted or committed
  version         INTEGER NOT NULL,
  reply_seq       INTEGER NOT NULL, -- the reply that answered a message, 0 if none did
  body_id         INTEGER NOT NULL, -- bodies.id
  PRIMARY KEY (conversation_id, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX entries_by_age ON entries (at_ms)
  WHERE status NOT IN ('pending', 'committed');
CREATE TABLE message_ids (
  conversation_id INTEGER NOT NULL, -- conversations.id
  message_id      TEXT    NOT NULL,
  seq             INTEGER NOT NULL, -- its entry
  claimed_ms      INTEGER NOT NULL,
  entry_gone      INTEGER NOT NULL DEFAULT 0, -- 1: the entry was removed by retention
  PRIMARY KEY (conversation_id, message_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX message_ids_by_age ON message_ids (claimed_ms)
  WHERE entry_gone = 1;
CREATE VIEW transcript AS
SELECT c.bot, c.conversation, e.seq,
       strftime('%Y-%m-%d %H:%M:%f', e.at_ms / 1000.0, 'unixepoch') AS at,
       e.kind, e.id, e.status, e.reason,
       json_extract(b.body, '$.sender.name') AS sender,
       coalesce(json_extract(b.body, '$.text'), json_extract(b.body, '$.parts')) AS text,
       nullif(e.reply_seq, 0) AS answered_by_seq
FROM entries AS e JOIN conversations AS c ON c.id = e.conversation_id JOIN bodies AS b ON b.id = e.body_id
ORDER BY c.bot, c.conversation, e.seq;
CREATE VIEW waiting AS
SELECT c.bot, c.conversation, c.phase,
       strftime('%Y-%m-%d %H:%M:%f', t.due_ms / 1000.0, 'unixepoch') AS due,
       coalesce(json_extract(c.record, '$.pending'), 0) AS pending,
       json_extract(c.record, '$.version') AS version,
       json_extract(c.record, '$.answered') AS answered,
       json_extract(c.record, '$.lease.holder') AS lease_holder,
       json_extract(c.record, '$.last_error') AS last_error
FROM timers AS t JOIN conversations AS c ON c.id = t.conversation_id
ORDER BY t.due_ms;
INSERT INTO bodies VALUES (1, '{"text":"Hello, where is my order 4711? It should have come on Monday.","sender":{"id":"u1","name":"Ann"},"sent_at":1749999999800}');
INSERT INTO bodies VALUES (2, '{"text":"Hello, where is my order 4711? It should have come on Monday.","sender":{"id":"u1","name":"Ann"},"sent_at":1749999999800}');
INSERT INTO bodies VALUES (3, '{"parts":["It comes on Monday.","Sorry!"],"covers":["m1"]}');
INSERT INTO bodies VALUES (4, '{"text":"Hello, where is my order 4711? It should have come on Monday.","sender":{"id":"u1","name":"Ann"},"sent_at":1749999999800}');
INSERT INTO conversations VALUES (1, 'support', 'waiting', 'collecting', 1750000000000, 1, 1, X'00000000000000000000000000000001', '{"schema":1,"phase":"collecting","version":1,"answered":0,"pending":1,"turn":1,"seq":1,"window":{"waiting_since":1750000000000,"start":1750000000000,"quiet_until":1750000001500,"due":1750000001500}}', 0);
INSERT INTO conversations VALUES (2, 'support', 'answered', 'idle', 1750000000000, 2, 1, X'00000000000000000000000000000003', '{"schema":1,"phase":"idle","version":2,"answered":0,"pending":2,"turn":1,"seq":2,"window":{"waiting_since":1750000000000,"start":1750000000000,"quiet_until":1750000001500,"due":1750000001500}}', 0);
INSERT INTO conversations VALUES (3, 'support', 'failed', 'failed', 1750000000000, 1, 1, X'00000000000000000000000000000004', '{"schema":1,"phase":"failed","version":1,"answered":0,"pending":1,"turn":1,"seq":1,"window":{"waiting_since":1750000000000,"start":1750000000000,"quiet_until":1750000001500,"due":1750000001500}}', 1);
INSERT INTO entries VALUES (1, 1, 'message', 'm1', 'pending', NULL, 1750000000000, 1, 0, 1);
INSERT INTO entries VALUES (2, 1, 'message', 'm1', 'answered', NULL, 1750000000000, 1, 2, 2);
INSERT INTO entries VALUES (2, 2, 'reply', 'answered/1', 'sent', NULL, 1750000002000, 1, 0, 3);
INSERT INTO entries VALUES (3, 1, 'message', 'm1', 'pending', NULL, 1750000000000, 1, 0, 4);
INSERT INTO message_ids VALUES (1, 'm1', 1, 1750000000000, 0);
INSERT INTO message_ids VALUES (2, 'm1', 1, 1750000000000, 0);
INSERT INTO message_ids VALUES (3, 'm1', 1, 1750000000000, 0);
INSERT INTO timers VALUES (1, 1750000001501);
