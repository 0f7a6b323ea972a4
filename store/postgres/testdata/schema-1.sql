-- Schema 1: all of it lives in the schema "onereply" of the database. Times are
-- milliseconds since 1970 (UTC). Rows refer to a conversation by its number,
-- which is internal. There are no foreign keys, whose row locks each message
-- would pay for: the functions below write and delete the rows of a conversation
-- in one transaction, under the lock of its row in conversations.
--
-- JSON is kept as text, to the byte. Look inside with body::json ->> 'text'; where
-- somebody wrote a NUL (\u0000), that cast works and ->> refuses it.

CREATE TABLE onereply.conversations (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  bot          text COLLATE "C" NOT NULL,
  conversation text COLLATE "C" NOT NULL,
  phase        text   NOT NULL, -- as people see it: idle, collecting, generating, sending, failed, paused
  active_ms    bigint NOT NULL, -- the last write
  last_seq     bigint NOT NULL, -- the greatest entries.seq ever given out
  schema       int    NOT NULL, -- of the record
  attention    boolean NOT NULL, -- a person should look at it
  op           bytea  NOT NULL, -- the write that made this record; the next one must name it
  record       text   NOT NULL, -- JSON: counters, window, lease, reply on its way
  UNIQUE (bot, conversation)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);

-- For lists, newest first, and to find what was idle for long.
CREATE INDEX conversations_by_activity ON onereply.conversations (active_ms);

-- For lists of what is going on, or wrong: the idle ones are not in here.
CREATE INDEX conversations_by_phase ON onereply.conversations (phase, active_ms)
  WHERE phase <> 'idle';

-- For lists of what needs a person's attention. They are few, and the rest is not in here.
CREATE INDEX conversations_by_attention ON onereply.conversations (active_ms)
  WHERE attention;

-- A conversation that waits for nothing has no row.
CREATE TABLE onereply.timers (
  conversation_id bigint PRIMARY KEY, -- conversations.id
  due_ms          bigint NOT NULL     -- when somebody must look at it
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX timers_by_time ON onereply.timers (due_ms);

CREATE TABLE onereply.entries (
  conversation_id bigint NOT NULL, -- conversations.id
  seq             bigint NOT NULL, -- place in the transcript
  kind            text   NOT NULL, -- message or reply
  id              text COLLATE "C" NOT NULL, -- of the message or the reply
  status          text   NOT NULL,
  reason          text   NOT NULL, -- why a reply has its status, or empty
  at_ms           bigint NOT NULL, -- when it was accepted or committed
  version         bigint NOT NULL,
  reply_seq       bigint NOT NULL, -- the reply that answered a message, 0 if none did
  body            text   NOT NULL, -- JSON: text, sender, attachments, parts
  PRIMARY KEY (conversation_id, seq)
);

-- For retention. What still needs work, or may come back, is never removed, so it is
-- not in here.
CREATE INDEX entries_by_age ON onereply.entries (at_ms)
  WHERE status NOT IN ('pending', 'failed', 'committed');

-- Every message id ever accepted. It outlives its entry, so that a webhook
-- that is delivered again, late, is still recognised.
CREATE TABLE onereply.message_ids (
  conversation_id bigint NOT NULL, -- conversations.id
  message_id      text COLLATE "C" NOT NULL,
  seq             bigint NOT NULL, -- its entry
  claimed_ms      bigint NOT NULL,
  entry_gone      boolean NOT NULL DEFAULT false, -- the entry was removed by retention
  PRIMARY KEY (conversation_id, message_id)
);

CREATE INDEX message_ids_by_age ON onereply.message_ids (claimed_ms)
  WHERE entry_gone;

-- Commit: the compare-and-swap, all of it in one call.
--
-- In: the key; the op that is expected, NULL for no record; the new op and the
-- new columns; the timer, 0 for none; the columns of the entries to append, each
-- as an array, in the order of their sequences; the ids among them to claim, their
-- sequences, and whether one occurs twice; entries to change, settles and marks,
-- as JSON arrays, and the bodies of the changes; whether to wait for a locked row.
-- An empty argument is NULL.
-- Out: ok; duplicate, with the ids that were claimed before; sequence, if the first
-- new entry does not come after the last one; conflict, with the record that is
-- there, NULL for none, and the ids that are claimed; busy, where the row is locked
-- and the caller does not want to wait: nothing was written.
--
-- Races: it locks the row of the conversation and compares the op under that
-- lock, so of two writes that expect the same op one finds another op and
-- changes nothing. A first write inserts the row instead; of two, one waits for
-- the other and finds that it is there. Each statement below begins after the lock
-- was taken and sees all that was committed until then (READ COMMITTED, which
-- Open insists on), so nobody can claim an id between the look and the claim. What
-- a conflict met is read by one statement after the comparison, without a lock: it
-- is what this write lost against, or something newer. A conflict writes nothing,
-- so its answer waits for no disk.
CREATE FUNCTION onereply.commit_v1(
  for_bot text, for_conversation text, expected_op bytea, new_op bytea,
  new_phase text, new_active_ms bigint, new_last_seq bigint, new_schema int,
  new_attention boolean, new_record text, new_due_ms bigint,
  seqs bigint[], kinds text[], ids text[], entry_statuses text[], reasons text[], ats_ms bigint[],
  versions bigint[], reply_seqs bigint[], bodies text[],
  new_ids text[], new_id_seqs bigint[], id_twice boolean,
  changed json, changed_bodies text[], settles json, marks json, may_wait boolean,
  OUT outcome text, OUT claimed_before text[], OUT there_schema int, OUT there_op bytea, OUT there_record text
) LANGUAGE plpgsql AS $$
DECLARE
  number bigint; -- of the conversation
  last bigint;   -- its last sequence
  step record;
BEGIN
  IF expected_op IS NULL THEN
    INSERT INTO onereply.conversations AS c (bot, conversation, phase, active_ms, last_seq, schema, attention, op, record)
      VALUES (for_bot, for_conversation, new_phase, new_active_ms, new_last_seq, new_schema, new_attention, new_op, new_record)
      ON CONFLICT DO NOTHING RETURNING c.id INTO number;
    last := 0;
  ELSIF may_wait THEN
    SELECT c.id, c.last_seq INTO number, last FROM onereply.conversations AS c
      WHERE c.bot = for_bot AND c.conversation = for_conversation AND c.op = expected_op
      FOR NO KEY UPDATE;
  ELSE
    SELECT c.id, c.last_seq INTO number, last FROM onereply.conversations AS c
      WHERE c.bot = for_bot AND c.conversation = for_conversation AND c.op = expected_op
      FOR NO KEY UPDATE SKIP LOCKED;
  END IF;
  IF number IS NULL THEN
    outcome := 'conflict';
    SELECT c.schema, c.op, c.record,
        (SELECT array_agg(m.message_id) FROM onereply.message_ids AS m
          WHERE m.conversation_id = c.id AND m.message_id = ANY (new_ids))
      INTO there_schema, there_op, there_record, claimed_before
      FROM onereply.conversations AS c WHERE c.bot = for_bot AND c.conversation = for_conversation;
    IF there_op = expected_op THEN
      outcome := 'busy';
    END IF;
    RETURN;
  END IF;

  IF new_ids IS NOT NULL THEN
    SELECT array_agg(m.message_id) INTO claimed_before FROM onereply.message_ids AS m
      WHERE m.conversation_id = number AND m.message_id = ANY (new_ids);
  END IF;
  IF id_twice OR claimed_before IS NOT NULL THEN
    outcome := 'duplicate';
  ELSIF seqs[1] <= last THEN
    outcome := 'sequence';
  END IF;
  IF outcome IS NOT NULL THEN
    IF expected_op IS NULL THEN -- nobody has seen the row yet
      DELETE FROM onereply.conversations AS c WHERE c.id = number;
    END IF;
    RETURN;
  END IF;

  IF expected_op IS NOT NULL THEN
    UPDATE onereply.conversations AS c
      SET phase = new_phase, active_ms = new_active_ms, last_seq = greatest(last, new_last_seq),
          schema = new_schema, attention = new_attention, op = new_op, record = new_record
      WHERE c.id = number;
  END IF;

  IF new_due_ms = 0 THEN
    DELETE FROM onereply.timers AS t WHERE t.conversation_id = number;
  ELSE
    INSERT INTO onereply.timers AS t (conversation_id, due_ms) VALUES (number, new_due_ms)
      ON CONFLICT (conversation_id) DO UPDATE SET due_ms = excluded.due_ms WHERE t.due_ms <> excluded.due_ms;
  END IF;

  IF seqs IS NOT NULL THEN
    INSERT INTO onereply.entries (conversation_id, seq, kind, id, status, reason, at_ms, version, reply_seq, body)
      SELECT number, e.*
      FROM unnest(seqs, kinds, ids, entry_statuses, reasons, ats_ms, versions, reply_seqs, bodies) AS e;
  END IF;
  IF new_ids IS NOT NULL THEN
    INSERT INTO onereply.message_ids (conversation_id, message_id, seq, claimed_ms)
      SELECT number, m.id, m.seq, new_active_ms FROM unnest(new_ids, new_id_seqs) AS m (id, seq);
  END IF;

  -- One after the other, since a later step may take what an earlier one left.
  IF changed IS NOT NULL THEN
    FOR step IN
      SELECT e.* FROM ROWS FROM (
        json_to_recordset(changed) AS (seq bigint, kind text, id text, status text, reason text,
          at_ms bigint, version bigint, reply_seq bigint),
        unnest(changed_bodies)) AS e (seq, kind, id, status, reason, at_ms, version, reply_seq, body)
    LOOP
      UPDATE onereply.entries AS e
        SET kind = step.kind, id = step.id, status = step.status, reason = step.reason, at_ms = step.at_ms,
            version = step.version, reply_seq = step.reply_seq, body = step.body
        WHERE e.conversation_id = number AND e.seq = step.seq;
    END LOOP;
  END IF;
  IF settles IS NOT NULL THEN
    FOR step IN
      SELECT * FROM json_to_recordset(settles) AS s (after_seq bigint, above bigint, through bigint,
        was text, status text, reply_seq bigint)
    LOOP
      UPDATE onereply.entries AS e SET status = step.status, reply_seq = step.reply_seq
        WHERE e.conversation_id = number AND e.seq > step.after_seq AND e.kind = 'message'
        AND e.version > step.above AND e.version <= step.through AND e.status = step.was;
    END LOOP;
  END IF;
  IF marks IS NOT NULL THEN
    FOR step IN SELECT * FROM json_to_recordset(marks) AS m (seq bigint, status text, reason text) LOOP
      UPDATE onereply.entries AS e SET status = step.status, reason = step.reason
        WHERE e.conversation_id = number AND e.seq = step.seq AND e.kind = 'reply';
    END LOOP;
  END IF;
  outcome := 'ok';
END $$;

-- Delete: all that is stored of a conversation.
--
-- In: the key. Out: whether it was there.
-- Races: it takes the row of the conversation first, as commit_v1 does, so a
-- write is either deleted with the rest or finds no record and conflicts.
CREATE FUNCTION onereply.delete_v1(for_bot text, for_conversation text, OUT existed boolean) LANGUAGE plpgsql AS $$
DECLARE
  number bigint;
BEGIN
  DELETE FROM onereply.conversations AS c
    WHERE c.bot = for_bot AND c.conversation = for_conversation RETURNING c.id INTO number;
  existed := number IS NOT NULL;
  IF existed THEN
    DELETE FROM onereply.timers AS t WHERE t.conversation_id = number;
    DELETE FROM onereply.entries AS e WHERE e.conversation_id = number;
    DELETE FROM onereply.message_ids AS m WHERE m.conversation_id = number;
  END IF;
END $$;

-- Expire, first step: entries that are settled and old. Failed messages were set
-- aside and may come back, so they stay.
--
-- In: a time, how many at most. Out: how many were removed.
-- Races: the status is compared under the lock of the row, so an entry that is
-- reopened at this moment stays. Rows that a commit works on are skipped; so this
-- never waits while it holds rows, and can't deadlock with one. An id is freed
-- in the transaction that removes its message.
CREATE FUNCTION onereply.expire_entries_v1(before_ms bigint, most int, OUT removed int) LANGUAGE plpgsql AS $$
BEGIN
  WITH old AS (
    SELECT e.conversation_id, e.seq FROM onereply.entries AS e
    WHERE e.status NOT IN ('pending', 'failed', 'committed') AND e.at_ms < before_ms
    ORDER BY e.at_ms LIMIT most FOR UPDATE SKIP LOCKED
  ), gone AS (
    DELETE FROM onereply.entries AS e USING old
    WHERE e.conversation_id = old.conversation_id AND e.seq = old.seq
    RETURNING e.conversation_id, e.kind, e.id
  ), freed AS (
    UPDATE onereply.message_ids AS m SET entry_gone = true FROM gone
    WHERE gone.kind = 'message' AND m.conversation_id = gone.conversation_id AND m.message_id = gone.id
  )
  SELECT count(*) INTO removed FROM gone;
END $$;

-- Expire, second step: ids that are old and whose entries are gone.
--
-- In: a time, how many at most. Out: how many were forgotten.
-- Races: as above. A commit that still finds the id reports a duplicate, as if it
-- had come a moment earlier.
CREATE FUNCTION onereply.expire_ids_v1(before_ms bigint, most int, OUT removed int) LANGUAGE plpgsql AS $$
BEGIN
  WITH old AS (
    SELECT m.conversation_id, m.message_id FROM onereply.message_ids AS m
    WHERE m.entry_gone AND m.claimed_ms < before_ms
    ORDER BY m.claimed_ms LIMIT most FOR UPDATE SKIP LOCKED
  )
  DELETE FROM onereply.message_ids AS m USING old
    WHERE m.conversation_id = old.conversation_id AND m.message_id = old.message_id;
  GET DIAGNOSTICS removed = ROW_COUNT;
END $$;

-- Expire, third step: idle conversations of which nothing is left.
--
-- In: a time, the newest schema of a record that the caller knows, how many at
-- most. Out: how many were removed.
-- Races: candidates are locked first, those that a commit works on are skipped,
-- and only then it looks, in a second statement, whether they are still empty:
-- with the lock held nobody can add anything.
CREATE FUNCTION onereply.expire_conversations_v1(before_ms bigint, known_schema int, most int, OUT removed int)
LANGUAGE plpgsql AS $$
DECLARE
  candidates bigint[];
BEGIN
  SELECT array_agg(locked.id) INTO candidates FROM (
    SELECT c.id FROM onereply.conversations AS c
    WHERE c.active_ms < before_ms AND c.schema <= known_schema AND c.phase = 'idle'
    AND NOT EXISTS (SELECT FROM onereply.entries AS e WHERE e.conversation_id = c.id)
    AND NOT EXISTS (SELECT FROM onereply.message_ids AS m WHERE m.conversation_id = c.id)
    ORDER BY c.active_ms LIMIT most FOR UPDATE OF c SKIP LOCKED
  ) AS locked;
  WITH gone AS (
    DELETE FROM onereply.conversations AS c WHERE c.id = ANY (candidates)
    AND NOT EXISTS (SELECT FROM onereply.entries AS e WHERE e.conversation_id = c.id)
    AND NOT EXISTS (SELECT FROM onereply.message_ids AS m WHERE m.conversation_id = c.id)
    RETURNING c.id
  ), stopped AS (
    DELETE FROM onereply.timers AS t USING gone WHERE t.conversation_id = gone.id
  )
  SELECT count(*) INTO removed FROM gone;
END $$;
