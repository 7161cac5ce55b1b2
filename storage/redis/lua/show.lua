-- show merges durable actions into the user's entries.
--
-- KEYS[1] the window
-- ARGV[1] life of the window, in milliseconds
-- ARGV[2] life of the window while something is shown, in milliseconds
-- ARGV[3] of how many subjects it holds entries at most
-- ARGV[4] q: they are confirmed by the queue. Their history stays as it is.
--         -: they are in the database. What is there is corrected, and it is
--         unknown what the counts include of it
-- ARGV[5…] of each action: name, version, state
-- Returns how many entries have changed.
local changed = 0
for i = 5, #ARGV, 3 do
  local e = entry(ARGV[i])
  if not e and ARGV[4] == 'q' then
    e = known_none() or {version = '0', shown = '-', touched = '0', state = '0?', history = '-'}
  end
  if e then
    local differs, covered = join(e, ARGV[i + 1], ARGV[i + 2])
    if differs then
      e.touched = clock[1]
      if ARGV[4] == 'q' or covered then set_shown(e, ARGV[4]) end
      if ARGV[4] == '-' then e.history = '-' end
      put(ARGV[i], e)
      changed = changed + 1
    end
  end
end
if changed > 0 then
  redis.call('HDEL', window, '~l')
  trim(ARGV[3])
  live(ARGV[1], ARGV[2])
end
return changed
