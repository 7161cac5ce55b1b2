-- apply merges durable actions into the user's entries.
--
-- KEYS[1] the window
-- ARGV[1] life of the window, in milliseconds
-- ARGV[2] life of the window while an entry is shown, in milliseconds
-- ARGV[3] maximum number of subjects in the window
-- ARGV[4] q: the queue has confirmed the actions. Histories stay as they are.
--         -: the actions are in the database. Existing entries are corrected, and it
--         becomes unknown what the counts include of them
-- ARGV[5…] for each action: name, version, state
-- Returns ~b, ~f and the field of the first action after the change.
local how, changed = ARGV[4], false
local first, leased, shown, full = head(ARGV[5])
for i = 5, #ARGV, 3 do
  local name, version, state = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local e, malformed = first, false
  if i > 5 then e, malformed = entry(name) end
  full = full and not malformed
  if not e and how == 'q' then
    e = full and known_none() or {version = '0', shown = '-', touched = '0', state = '0?', history = '-'}
  end
  if e then
    local differs, covered = join(e, version, state)
    if differs then
      local before = shown
      if how == 'q' or covered then
        if e.shown == 'q' then shown = shown - 1 end
        if how == 'q' then shown = shown + 1 end
        e.shown = how
      end
      e.touched = clock[1]
      if how == '-' then e.history = '-' end
      put(name, e, shown ~= before and shown)
      changed = true
    end
  end
end
if changed then
  if leased then redis.call('HDEL', window, '~l') end
  trim(ARGV[3])
  redis.call('PEXPIRE', window, shown > 0 and ARGV[2] or ARGV[1])
end
return redis.call('HMGET', window, '~b', '~f', field_of(ARGV[5]))
