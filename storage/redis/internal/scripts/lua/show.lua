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
local how, changed = ARGV[4], 0
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
      changed = changed + 1
    end
  end
end
if changed > 0 then
  if leased then redis.call('HDEL', window, '~l') end
  trim(ARGV[3])
  redis.call('PEXPIRE', window, shown > 0 and ARGV[2] or ARGV[1])
end
return changed
