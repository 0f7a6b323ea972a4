-- Schema 1. Times are milliseconds since 1970 (UTC); the views show them as
-- people read them. Rows refer to a conversation by its number, which is
-- internal; there are no foreign keys, because the program writes and deletes
-- the rows of a conversation in one transaction.

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

-- For lists, newest first, and to find what was idle for long.
CREATE INDEX conversations_by_activity ON conversations (active_ms);

-- For the list of what a person should look at. It holds nothing else, so it is short.
CREATE INDEX conversations_by_attention ON conversations (active_ms) WHERE attention = 1;

CREATE TABLE timers (
  conversation_id INTEGER PRIMARY KEY, -- conversations.id
  due_ms          INTEGER NOT NULL     -- when somebody must look at it
) STRICT;

CREATE INDEX timers_by_time ON timers (due_ms);

-- A text is in a table of its own: a change of status must not move it. The entries of
-- a whole turn are settled by one write, however long their texts are.
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

-- For retention. What still needs work is never removed, so it is not in here.
CREATE INDEX entries_by_age ON entries (at_ms)
  WHERE status NOT IN ('pending', 'committed');

-- Every message id ever accepted. It outlives its entry, so that a webhook
-- that is delivered again, late, is still recognised.
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

-- What was said, in order.
CREATE VIEW transcript AS
SELECT c.bot, c.conversation, e.seq,
       strftime('%Y-%m-%d %H:%M:%f', e.at_ms / 1000.0, 'unixepoch') AS at,
       e.kind, e.id, e.status, e.reason,
       json_extract(b.body, '$.sender.name') AS sender,
       coalesce(json_extract(b.body, '$.text'), json_extract(b.body, '$.parts')) AS text,
       nullif(e.reply_seq, 0) AS answered_by_seq
FROM entries AS e JOIN conversations AS c ON c.id = e.conversation_id JOIN bodies AS b ON b.id = e.body_id
ORDER BY c.bot, c.conversation, e.seq;

-- What somebody will look at, soonest first.
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
