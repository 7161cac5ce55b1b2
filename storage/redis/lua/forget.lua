-- forget drops entries of which it is not known whether the database has them:
-- a transaction has ended with an error after it had marked them, and nobody
-- delivers its actions again. What the queue has confirmed stays.
--
-- KEYS[1] the window
-- ARGV[1] how long nobody fills the window, in milliseconds: the transaction
--         may be committing still
-- ARGV[2…] fields
-- Returns how many were dropped.
local dropped = 0
for i = 2, #ARGV do
  local e = entry(ARGV[i])
  if e and e.shown == '-' then
    redis.call('HDEL', window, ARGV[i])
    dropped = dropped + 1
  end
end
redis.call('HDEL', window, '~b', '~f', '~l')
redis.call('HSET', window, '~g', string.format('%.0f', now_ms + ARGV[1]))
if redis.call('PTTL', window) == -1 then redis.call('PEXPIRE', window, ARGV[1]) end
return dropped
