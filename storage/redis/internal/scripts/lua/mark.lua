-- mark records what the new counts of a transaction include of a user's states.
--
-- KEYS[1] the window
-- ARGV[1] life of the window, in milliseconds
-- ARGV[2] life of the window while an entry is shown, in milliseconds
-- ARGV[3] maximum number of subjects in the window
-- ARGV[4] how long fills are blocked if an entry is absent, in milliseconds: longer than a
--         transaction takes to commit
-- ARGV[5…] for each state: name, version, state, share, V; V is 0 if the counts have not
--         changed
-- Returns the number of states whose entry existed or was known to be unset.
local keep = 4 -- maximum length of a history

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

local first, leased, shown, full = head(ARGV[5])
local present, absent = 0, false
for i = 5, #ARGV, 5 do
  local name, version, state, share, v = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]
  local e, malformed = first, false
  if i > 5 then e, malformed = entry(name) end
  full = full and not malformed
  if full then e = e or known_none() end
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
    put(name, e, shown ~= before and shown)
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
