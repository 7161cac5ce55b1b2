-- counts writes the counts of a subject, unless a version as new is there.
--
-- KEYS[1] the counts
-- ARGV[1] version, ARGV[2…5] reads, likes, dislikes, collections
-- ARGV[6] life, in milliseconds
-- Returns 1 where they were written, else 0.
local version = redis.call('HGET', KEYS[1], 'v')
if version and tonumber(version) >= tonumber(ARGV[1]) then return 0 end
redis.call('HSET', KEYS[1], 'v', ARGV[1], 'r', ARGV[2], 'l', ARGV[3], 'd', ARGV[4], 'c', ARGV[5])
redis.call('PEXPIRE', KEYS[1], ARGV[6])
return 1
