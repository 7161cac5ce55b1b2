-- fence keeps old counts from living on where a transaction that is about to
-- commit new ones may end before it has published them.
--
-- KEYS[1] the counts
-- ARGV[1] the version that is about to be committed
-- ARGV[2] how long anything older lives, in milliseconds: longer than a
--         transaction takes to commit
-- Returns 1.
local fence = redis.call('HGET', KEYS[1], 'g')
if not fence or tonumber(fence) < tonumber(ARGV[1]) then redis.call('HSET', KEYS[1], 'g', ARGV[1]) end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
