-- counts writes the counts of a subject, unless a version as new is there, whole
-- and well-formed. What is older than a fence lives no longer for it, what is not
-- takes it away.
--
-- KEYS[1] the counts
-- ARGV[1] version, ARGV[2…5] reads, likes, dislikes, collections
-- ARGV[6] life, in milliseconds
-- Returns 1 where they were written, else 0.
local function number(value) return value and value:match('^%-?%d+$') and tonumber(value) end
local there = redis.call('HMGET', KEYS[1], 'v', 'g', 'r', 'l', 'd', 'c')
local version, fence = number(there[1]), number(there[2])
for i = 3, 6 do version = number(there[i]) and version end
if version and version > tonumber(ARGV[1]) then return 0 end
local written = 0
if not version or version < tonumber(ARGV[1]) then
  redis.call('HSET', KEYS[1], 'v', ARGV[1], 'r', ARGV[2], 'l', ARGV[3], 'd', ARGV[4], 'c', ARGV[5])
  written = 1
elseif not fence then
  return 0
end
if fence and fence > tonumber(ARGV[1]) then return written end
if fence then redis.call('HDEL', KEYS[1], 'g') end
redis.call('PEXPIRE', KEYS[1], ARGV[6])
return written
