-- mark notes what the counts of the transaction under way include of a user's
-- states.
--
-- KEYS[1] the window
-- ARGV[1] life of the window, in milliseconds
-- ARGV[2] life of the window while something is shown, in milliseconds
-- ARGV[3] of how many subjects it holds entries at most
-- ARGV[4] how long nobody fills what was absent, in milliseconds: longer than
--         a transaction takes to commit
-- ARGV[5…] of each state: name, version, state, share, V; V is 0 where the
--         counts have not changed
-- Returns how many of the states were there.
local keep = 4 -- how many entries a history holds

local function remember(history, version, share)
  local kept, last = {}, nil
  for v, s in history:gmatch('(%d+):(%d+)') do
    if newer(version, v) then
      kept[#kept + 1] = v .. ':' .. s
      last = s
    end
  end
  if last ~= share then
    while #kept >= keep do table.remove(kept, 1) end
    kept[#kept + 1] = version .. ':' .. share
  end
  return table.concat(kept, ',')
end

-- The first state, mostly the only one, is read and written together with what
-- the window says of itself: each command costs.
local head = redis.call('HMGET', window, '~l', '~n', field_of(ARGV[5]))
local leased, shown = head[1], tonumber(head[2] or '0')
local present, absent = 0, false
for i = 5, #ARGV, 5 do
  local name, version, state, share, v = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]
  local e
  if i == 5 then e = unpacked(name, head[3]) else e = entry(name) end
  e = e or known_none()
  if e then
    present = present + 1
    if v ~= '0' then e.history = remember(e.history, v, share) end
    local before = shown
    local _, covered = join(e, version, state, true)
    if covered then
      if e.shown == 'q' then shown = shown - 1 end
      e.shown = 'm'
    end
    e.touched = clock[1]
    if shown == before then put(name, e) else redis.call('HSET', window, field_of(name), joined(name, packed(e)), '~n', shown) end
  else
    absent = true
  end
end
if leased then redis.call('HDEL', window, '~l') end
if present > 0 then
  trim(ARGV[3])
  redis.call('PEXPIRE', window, shown > 0 and ARGV[2] or ARGV[1])
end
if absent then bar(ARGV[4], ARGV[1]) end
return present
