-- show makes confirmed actions the user's latest word, unless a newer one is
-- there. Their history stays as it is.
--
-- KEYS[1] the window
-- ARGV[1] life of the window, in milliseconds
-- ARGV[2] life of the window while something is shown, in milliseconds
-- ARGV[3] how many entries it holds at most
-- ARGV[4…] of each action: field, version, state
-- Returns how many became the latest word.
local changed = 0
for i = 4, #ARGV, 3 do
  local e = entry(ARGV[i]) or known_none()
    or {version = '0', shown = '-', touched = '0', state = '-', history = '-'}
  if newer(ARGV[i + 1], e.version) then
    e.version, e.state, e.touched = ARGV[i + 1], ARGV[i + 2], clock[1]
    set_shown(e, 'q')
    put(ARGV[i], e)
    changed = changed + 1
  end
end
if changed > 0 then
  redis.call('HDEL', window, '~l')
  trim(ARGV[3])
  live(ARGV[1], ARGV[2])
end
return changed
