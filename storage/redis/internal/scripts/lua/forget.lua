-- forget makes it unknown what the counts include of states: a transaction has
-- marked them that may have been rolled back, or changes them without marks.
-- Until the window is filled again, whoever wants to know asks the database.
--
-- KEYS[1] the window
-- ARGV[1] life of the window, in milliseconds
-- ARGV[2] life of the window while something is shown, in milliseconds
-- ARGV[3] how long nobody fills the window, in milliseconds: longer than a
--         transaction takes to commit
-- ARGV[4…] of each state: name, and how. q: its entry is shown, as far as is
--         known: the queue may have it and the database not, since marks make
--         it persisted before the commit. -: it is wrong, and dropped. A
--         version: dropped if its state includes an action of that version
-- Returns how many were there.
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
