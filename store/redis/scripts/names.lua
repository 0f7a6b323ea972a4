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

-- Names the commands of a list that this user may not use on keys of the shard, nil
-- if there is none. A command without a right fails where it is called, in the
-- middle of what a script does.
local function lacks(commands)
  local denied, key = {}, shared('rights')
  for _, command in ipairs(commands) do
    if not redis.acl_check_cmd(command, key, key) then denied[#denied + 1] = command end
  end
  if #denied > 0 then return 'this user may not use ' .. table.concat(denied, ', ') .. ' on keys that begin with ' .. root end
end
