-- read reads entries of a window, grants a lease if some are unknown, and renews the life of
-- the window and of the entries if requested.
--
-- KEYS[1] the window
-- ARGV[1] a random token: the lease, unless one exists, which is then shared
-- ARGV[2] life of the window, in milliseconds
-- ARGV[3] life of the window while an entry is shown, in milliseconds
-- ARGV[4] 0: do not renew. Otherwise: renew, and the seconds after which a marked state
--         counts as persisted
-- ARGV[5] seconds after which a window must be loaded again
-- ARGV[6…] fields
-- Returns ~b, ~f, the lease (empty if none is needed, or none is granted now) and the values
-- in the order of the fields, false for fields without entries. ~b is false if the window
-- must be loaded.
local head = redis.call('HMGET', window, '~b', '~f')
local born, full = head[1], head[2]
if now - (tonumber(born) or 0) >= tonumber(ARGV[5]) then born = false end
local reply = {born, full, ''}
local missing = not born
-- look_at returns the text of an entry in the value of its field, which is empty if there is
-- no entry, and whether it has written the field.
local function look_at(name, value)
  local e, malformed = unpacked(name, value)
  if malformed then reply[1], reply[2], missing = false, false, true end
  if not e then
    missing = missing or not full
    return '', malformed
  end
  local age, touch = now - tonumber(e.touched), false
  if e.shown == 'm' then
    if ARGV[4] ~= '0' and age > tonumber(ARGV[4]) then e.shown = '-' end
  elseif ARGV[4] ~= '0' and age >= 10 and e.touched ~= '0' then
    touch, e.touched = true, clock[1]
    put(name, e)
  end
  return packed(name, e), touch
end

for i = 6, #ARGV do
  local id, value, found = ARGV[i]:sub(2), redis.call('HGET', window, ARGV[i]), {}
  for place, kind in ipairs(kinds) do
    local written
    found[place], written = look_at(kind .. id, value)
    if written then value = redis.call('HGET', window, ARGV[i]) end
  end
  local both = found[1] .. ';' .. found[2]
  reply[i - 2] = found[3] ~= '' and both .. ';' .. found[3] or both ~= ';' and both
end
if missing then
  local guard = tonumber(redis.call('HGET', window, '~g') or '0')
  if now_ms >= guard then
    redis.call('HSETNX', window, '~l', ARGV[1])
    reply[3] = redis.call('HGET', window, '~l')
  end
end
if ARGV[4] ~= '0' or redis.call('PTTL', window) == -1 then
  if redis.call('EXISTS', window) == 1 then live(ARGV[2], ARGV[3]) end
end
return reply
