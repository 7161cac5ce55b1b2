-- each runs the preceding script, as the function one(KEYS, ARGV), on many keys, since
-- sending a separate command for each key costs as much as running most scripts. An error
-- on one key is the reply for that key and does not affect the others.
--
-- KEYS[…] the keys
-- ARGV[1] number of arguments shared by all keys
-- ARGV[2…] the shared arguments; then, for each key, the number of its own arguments,
--         followed by these arguments
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
