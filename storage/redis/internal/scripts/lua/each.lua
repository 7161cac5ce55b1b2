-- each runs the script before it, as the function one(KEYS, ARGV), on many keys: to call
-- Redis once for each costs as much as most scripts do. An error of one key is
-- its reply, and ends nothing else.
--
-- KEYS[…] the keys
-- ARGV[1] how many arguments all keys share
-- ARGV[2…] those, and then for each key how many more it has, and those
-- Returns the replies in the order of the keys.
local shared, replies = tonumber(ARGV[1]), {}
local at = shared + 1
for i = 1, #KEYS do
  local args, own = {}, tonumber(ARGV[at + 1])
  for n = 1, shared do args[n] = ARGV[n + 1] end
  for n = 1, own do args[shared + n] = ARGV[at + 1 + n] end
  at = at + 1 + own
  local done, reply = pcall(one, {KEYS[i]}, args)
  if not done and type(reply) ~= 'table' then reply = redis.error_reply(tostring(reply)) end
  replies[i] = reply
end
return replies
