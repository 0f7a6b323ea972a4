-- The parts that all scripts share which read or write a conversation's keys.

-- An entry has a head, a JSON array of strings in the set of entries, and a body in a
-- hash beside it, which is never looked into. So the entries of a whole turn are settled
-- without touching their texts, however long these are. The sequence is in the head, so
-- no two are equal.
local function decode(text)
  local head = cjson.decode(text)
  return {
    seq = head[1], kind = head[2], status = head[3], version = tonumber(head[4]),
    at = head[6], id = head[7], head = head, text = text,
  }
end

local function entry_at(name, seq)
  local text = redis.call('ZRANGEBYSCORE', own('entries', name), seq, seq)[1]
  return text and decode(text)
end

-- Open entries have an index: settles change them, and queries by status find them.
-- They are few, however long the transcript is.
local function is_open(entry)
  return entry ~= nil and (entry.status == 'pending' or entry.status == 'failed')
end

-- Settled entries are those that retention may remove. Failed ones were set aside, and
-- may come back.
local function is_settled(entry)
  return entry ~= nil and entry.status ~= 'pending' and entry.status ~= 'failed' and entry.status ~= 'committed'
end

-- The schema of a record: nil where there is none, although an index has its name,
-- because it was evicted or deleted by somebody. What can't be read counts as newer
-- than all.
local function schema_of(name)
  local text = redis.call('HGET', own('record', name), 'schema')
  if text then return tonumber(text) or math.huge end
  if redis.call('EXISTS', own('record', name)) == 1 then return math.huge end
end

-- Keeps both indexes right for an entry that was before, and is now; either may
-- be nil, but not both.
local function index(name, before, now)
  local seq = (now or before).seq
  if is_open(now) ~= is_open(before) then
    if is_open(now) then
      redis.call('ZADD', own('open', name), seq, seq)
    else
      redis.call('ZREM', own('open', name), seq)
    end
  end
  if is_settled(now) then
    redis.call('ZADD', own('settled', name), now.at, seq)
  elseif is_settled(before) then
    redis.call('ZREM', own('settled', name), seq)
  end
end

-- The shard's index of a kind has each conversation under the least score that
-- is in the conversation's own set of that kind.
local function raise(kind, name)
  local least = redis.call('ZRANGE', own(kind, name), 0, 0, 'WITHSCORES')[2]
  if least then
    redis.call('ZADD', shared(kind), least, name)
  else
    redis.call('ZREM', shared(kind), name)
  end
end

-- All lists that a conversation may be in.
local lists = {'idle', 'collecting', 'generating', 'sending', 'failed', 'paused', 'alias', 'attention'}

-- Removes all that is stored of a conversation. Its record may be lost, and then
-- nobody knows in which list it is.
local function remove(name)
  local bot = bot_of(name)
  local phase = redis.call('HGET', own('record', name), 'phase')
  for _, list in ipairs(phase and {phase, 'attention'} or lists) do
    redis.call('ZREM', list_of(list, bot), name)
  end
  if redis.call('ZREM', shared('all'), name) == 1 and redis.call('HINCRBY', shared('bots'), bot, -1) <= 0 then
    redis.call('HDEL', shared('bots'), bot)
  end
  for _, kind in ipairs({'timers', 'settled', 'gone', 'bare'}) do
    redis.call('ZREM', shared(kind), name)
  end
  redis.call('UNLINK', own('record', name), own('entries', name), own('bodies', name), own('open', name),
    own('settled', name), own('ids', name), own('gone', name))
end

-- Remembers whether nothing is left in a conversation that anybody could miss.
-- Where the record is lost too, the conversation ends here.
local function note_bare(name, phase, active)
  local empty = (phase == 'idle' or not phase) and redis.call('EXISTS', own('entries', name), own('ids', name)) == 0
  if empty and not phase then
    remove(name)
  elseif empty then
    redis.call('ZADD', shared('bare'), active, name)
  else
    redis.call('ZREM', shared('bare'), name)
  end
end
