-- look reads entries of a window, gives a lease where some are not known, and
-- renews the life of the window and of the entries if asked.
--
-- KEYS[1] the window
-- ARGV[1] a random token: the lease, unless there is one to share
-- ARGV[2] life of the window, in milliseconds
-- ARGV[3] life of the window while something is shown, in milliseconds
-- ARGV[4] 0: do not renew. Else: renew, and how many seconds after it was marked a
--         state is called persisted
-- ARGV[5] how long a window lasts after it was loaded, in seconds
-- ARGV[6…] fields
-- Returns ~b, ~f, the lease (empty: none is needed, or none is given now) and the
-- values in the order of the fields, false where there are no entries. ~b is false for a window that is not loaded or
-- has lasted long enough.
local head = redis.call('HMGET', window, '~b', '~f')
local born, full = head[1], head[2]
if now - (tonumber(born) or 0) >= tonumber(ARGV[5]) then born = false end
local reply = {born, full, ''}
local missing = not born
-- look_at returns an entry as text, empty where there is none.
local function look_at(name)
  local e, malformed = entry(name)
  if malformed then reply[1], reply[2], missing = false, false, true end
  if not e then
    missing = missing or not full
    return ''
  end
  local age = now - tonumber(e.touched)
  if e.shown == 'm' then
    if ARGV[4] ~= '0' and age > tonumber(ARGV[4]) then e.shown = '-' end
  elseif ARGV[4] ~= '0' and age >= 10 then
    e.touched = clock[1]
    put(name, e)
  end
  return packed(e)
end

for i = 6, #ARGV do
  local id = ARGV[i]:sub(2)
  local value = look_at('r' .. id) .. ';' .. look_at('c' .. id)
  reply[i - 2] = value ~= ';' and value
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
