-- fence limits the life of old counts when a transaction is about to commit new ones, since
-- the process may crash before it publishes the new ones.
--
-- KEYS[1] the counts
-- ARGV[1] life of older counts, in milliseconds: longer than a transaction takes to commit
-- ARGV[2] the version about to be committed
-- Returns 1.
local fence = redis.call('HGET', KEYS[1], 'g')
if not fence or tonumber(fence) < tonumber(ARGV[2]) then redis.call('HSET', KEYS[1], 'g', ARGV[2]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
