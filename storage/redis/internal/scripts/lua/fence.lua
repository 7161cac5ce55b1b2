-- fence keeps old counts from living on where a transaction that is about to
-- commit new ones may end before it has published them.
--
-- KEYS[1] the counts
-- ARGV[1] how long anything older lives, in milliseconds: longer than a
--         transaction takes to commit
-- ARGV[2] the version that is about to be committed
-- Returns 1.
local fence = redis.call('HGET', KEYS[1], 'g')
if not fence or tonumber(fence) < tonumber(ARGV[2]) then redis.call('HSET', KEYS[1], 'g', ARGV[2]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
