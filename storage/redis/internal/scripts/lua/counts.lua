-- counts writes the counts of a subject, unless a well-formed newer version is there.
-- Counts older than a fence do not extend the life of the key; others remove the fence.
--
-- KEYS[1] a hash: n holds seven numbers (version, reads, readers, likes, dislikes,
--         collections, followers) and the author after an @, or a ! if the subject is
--         deleted, separated by spaces; g holds the fence
-- ARGV[1] version, ARGV[2] the six counts and the author
-- ARGV[3] life, in milliseconds
-- Returns 1 if the counts were written, else 0.
local there = redis.call('HMGET', KEYS[1], 'n', 'g')
local version, last = (there[1] or ''):match('^(%d+) %-?%d+ %-?%d+ %-?%d+ %-?%d+ %-?%d+ %-?%d+ (.*)$')
version = last and (last == '!' or last:sub(1, 1) == '@') and tonumber(version)
local fence = tonumber(there[2] and there[2]:match('^%d+$'))
local given, counts = tonumber(ARGV[1]), ARGV[1] .. ' ' .. ARGV[2]
if version and version > given and version < 2 ^ 63 then return 0 end
local written = 0
if there[1] ~= counts then
  redis.call('HSET', KEYS[1], 'n', counts)
  written = 1
elseif not fence then
  return 0
end
if fence and fence > given then return written end
if fence then redis.call('HDEL', KEYS[1], 'g') end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return written
