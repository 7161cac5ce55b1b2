-- invalidate makes it unknown what the counts include of states: either the states were
-- marked by a transaction that may have been rolled back, or a transaction changes them
-- without marks. Readers use the database until the window is filled again.
--
-- KEYS[1] the window
-- ARGV[1] life of the window, in milliseconds
-- ARGV[2] life of the window while an entry is shown, in milliseconds
-- ARGV[3] how long fills are blocked, in milliseconds: longer than a transaction takes to
--         commit
-- ARGV[4…] for each state: name, and how. q: the entry becomes shown, as the state may be
--         queued and not be in the database, even if it is marked: marks precede the
--         commit. -: the entry is wrong and is deleted. A version: the entry is deleted if
--         its state includes an action of that version
-- Returns the number of entries that existed.
local function includes(e, version)
  local _, set, unlike, undislike = parts(e.version, e.state)
  return version == set or version ~= '0' and (version == unlike or version == undislike)
end

local present = 0
for i = 4, #ARGV, 2 do
  local name, how = ARGV[i], ARGV[i + 1]
  local e = entry(name)
  if e then
    present = present + 1
    if how == '-' or (how ~= 'q' and includes(e, how)) then
      set_shown(e, '-')
      drop(name)
    elseif how == 'q' then
      if e.version ~= '0' then set_shown(e, 'q') end
      e.history, e.touched = '-', clock[1]
      put(name, e)
    end
  end
end
redis.call('HDEL', window, '~b', '~f', '~l')
bar(ARGV[3], ARGV[1])
if present > 0 then live(ARGV[1], ARGV[2]) end
return present
