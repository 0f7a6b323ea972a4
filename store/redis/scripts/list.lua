-- A part of one list. Reads only.
--
-- In:  the shard; phase, bot, the score and the name after which to begin,
--      limit.
-- Out: names and scores, in turn.
--
-- Race: conversations move while somebody pages. The place is found by score and
-- name, not by rank, so those that do not move are seen once.

local list, score, after, limit = list_of(ARGV[1], ARGV[2]), ARGV[3], ARGV[4], tonumber(ARGV[5])

-- Lua compares strings by the server's locale; sorted sets compare bytes.
local function is_after(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x > y end
  end
  return #a > #b
end

-- Of those with the very score, which are in order, skip up to the name.
local first = redis.call('ZCOUNT', list, '-inf', '(' .. score)
local beyond = first + redis.call('ZCOUNT', list, score, score)
while first < beyond do
  local middle = math.floor((first + beyond) / 2)
  if is_after(redis.call('ZRANGE', list, middle, middle)[1], after) then
    beyond = middle
  else
    first = middle + 1
  end
end
return redis.call('ZRANGE', list, first, first + limit - 1, 'WITHSCORES')
