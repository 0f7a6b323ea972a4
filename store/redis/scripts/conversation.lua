-- What the scripts that write know of a conversation's keys.

-- An entry is a line with a JSON array of strings, then a line with its body,
-- which is never looked into. The sequence is in it, so no two are equal.
local function decode(text)
  local cut = string.find(text, '\n', 1, true)
  local head = cjson.decode(string.sub(text, 1, cut - 1))
  return {
    seq = head[1], kind = head[2], status = head[3], version = tonumber(head[4]),
    at = head[6], id = head[7], head = head, body = string.sub(text, cut),
  }
end

local function encode(entry) return cjson.encode(entry.head) .. entry.body end

local function entry_at(name, seq)
  local text = redis.call('ZRANGEBYSCORE', own('entries', name), seq, seq)[1]
  return text and decode(text)
end

-- What settles can change, or queries by status find, is indexed: it is little,
-- however long the transcript is.
local function is_open(entry)
  return entry ~= nil and (entry.status == 'pending' or entry.status == 'failed')
end

-- What retention may remove.
local function is_settled(entry)
  return entry ~= nil and entry.status ~= 'pending' and entry.status ~= 'committed'
end

local settled_changed = false

-- Keeps both indexes right for an entry that was before, and is now; either may
-- be nil.
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
  settled_changed = settled_changed or is_settled(now) or is_settled(before)
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

-- Remembers whether nothing is left in a conversation that anybody could miss.
local function note_bare(name, phase, active)
  if phase == 'idle' and redis.call('EXISTS', own('entries', name), own('ids', name)) == 0 then
    redis.call('ZADD', shared('bare'), active, name)
  else
    redis.call('ZREM', shared('bare'), name)
  end
end

-- Removes all that is stored of a conversation.
local function remove(name)
  local phase = redis.call('HGET', own('record', name), 'phase')
  if not phase then return end
  local bot = bot_of(name)
  redis.call('ZREM', list_of(phase, bot), name)
  redis.call('ZREM', list_of('attention', bot), name)
  if redis.call('HINCRBY', shared('bots'), bot, -1) <= 0 then
    redis.call('HDEL', shared('bots'), bot)
  end
  for _, kind in ipairs({'timers', 'all', 'settled', 'gone', 'bare'}) do
    redis.call('ZREM', shared(kind), name)
  end
  redis.call('UNLINK', own('record', name), own('entries', name), own('open', name),
    own('settled', name), own('ids', name), own('gone', name))
end
