-- tell_counts writes the counts of a committed transaction, unless newer ones are there.
-- The life of existing counts is not extended: Redis then drops them within that life,
-- and a reader reads them from the database.
--
-- KEYS[1] the counts; see counts.lua
-- ARGV[1] version, ARGV[2] the five counts and the author
-- ARGV[3] life, in milliseconds
-- Returns 1 if the counts were written, else 0.
local there = redis.call('HMGET', KEYS[1], 'n', 'g')
local version = there[1] and tonumber(there[1]:match('^(%d+) '))
local given, fence = tonumber(ARGV[1]), tonumber(there[2] or '0')
if version and version > given and version < 2 ^ 63 then return 0 end
redis.call('HSET', KEYS[1], 'n', ARGV[1] .. ' ' .. ARGV[2])
if not version or version == 0 or there[2] then
  if not fence or fence <= given then
    if there[2] then redis.call('HDEL', KEYS[1], 'g') end
    redis.call('PEXPIRE', KEYS[1], ARGV[3])
  end
end
return 1
