-- takeback removes from the histories of redelivered actions what a
-- transaction marked that never committed. What is newer than the database is
-- shown again.
--
-- KEYS[1] the window
-- ARGV[1] life of the window, in milliseconds
-- ARGV[2] life of the window while something is shown, in milliseconds
-- ARGV[3…] of each state: field, V of the counts in the database, and the
--         version and the share of the state there
-- Returns how many entries changed.
local changed = 0
for i = 3, #ARGV, 4 do
  local field, v, version, share = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  local e = entry(field)
  if e then
    local kept, gone = {}, false
    for at, s in e.history:gmatch('(%d+):(%d+)') do
      if newer(at, v) then gone = true else kept[#kept + 1] = at .. ':' .. s end
    end
    local unshown = e.shown == '-' and newer(e.version, version)
    if gone or unshown then
      if gone then e.history = #kept > 0 and table.concat(kept, ',') or '0:' .. share end
      if unshown then set_shown(e, 'q') end
      e.touched = clock[1]
      put(field, e)
      changed = changed + 1
    end
  end
end
if changed > 0 then
  redis.call('HDEL', window, '~l')
  live(ARGV[1], ARGV[2])
end
return changed
