-- reads notes reads that the queue has confirmed. They stay for as long as the
-- database may lack them.
--
-- KEYS[1] the window
-- ARGV[1] how long they stay, in milliseconds
-- ARGV[2] how many of them stay at most; the oldest go first
-- ARGV[3…] of each: id, version, times, in one word id:version:times
-- Returns how many there are.
local stay = ARGV[1] * 1000
local function young(word)
  local version = tonumber(word:match(':(%d+):%d+$'))
  return version and now_ms * 1000 - version < stay
end

local kept, there = {}, {}
local function keep(word)
  if young(word) and not there[word] then
    there[word] = true
    kept[#kept + 1] = word
  end
end
for word in (redis.call('HGET', window, '~r') or ''):gmatch('%S+') do keep(word) end
for i = 3, #ARGV do keep(ARGV[i]) end
while #kept > tonumber(ARGV[2]) do table.remove(kept, 1) end
if #kept == 0 then
  redis.call('HDEL', window, '~r')
  return 0
end
redis.call('HSET', window, '~r', table.concat(kept, ' '))
if redis.call('PTTL', window) < tonumber(ARGV[1]) then redis.call('PEXPIRE', window, ARGV[1]) end
return #kept
