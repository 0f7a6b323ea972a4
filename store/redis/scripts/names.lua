-- Every script begins with this file. KEYS[1] is the root of a shard, such as
-- {onereply:3}: all other keys are derived from it and share its hash slot. A
-- server in cluster mode checks that for each access, because the scripts
-- declare themselves with a first line of "#!lua".

local root = KEYS[1]

-- A key that the shard has once.
local function shared(kind) return root .. ':' .. kind end

-- A key that each conversation has.
local function own(kind, name) return root .. ':' .. kind .. ':' .. name end

-- The list that a conversation is in. Its scores are negative, so that the
-- newest come first and equal ones in the order of their names.
local function list_of(phase, bot) return root .. ':list:' .. phase .. ':' .. bot end

-- A name is the length of the bot, a colon, the bot, the conversation.
local function bot_of(name)
  local length, begin = string.match(name, '^(%d+):()')
  return string.sub(name, begin, begin + length - 1)
end
