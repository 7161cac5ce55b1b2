-- fill puts what the database holds into a window, if no write has taken the
-- lease away since before the database was read.
--
-- KEYS[1] the window
-- ARGV[1] the lease
-- ARGV[2] what it holds: all, some (the window was loaded, and holds more than
--         fits) or entries (single ones that were missing)
-- ARGV[3] life of the window, in milliseconds
-- ARGV[4] life of the window while something is shown, in milliseconds
-- ARGV[5] how many entries it holds at most
-- ARGV[6…] of each entry: field, version, state, history
-- Returns 1, or 0 where the lease is gone.
--
-- What was touched in the last minute and is not older than the database
-- stays, with its history: it may be shown, or marked by a transaction that
-- has not committed yet. So does everything shown or marked. Of the same version, the
-- database knows better what it is.
if redis.call('HGET', window, '~l') ~= ARGV[1] then return 0 end

local function stays(e, version)
  return (e.shown ~= '-' or now - tonumber(e.touched) < 60) and not newer(version, e.version)
end

local given = {}
for i = 6, #ARGV, 4 do
  local field, version, state, history = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  given[field] = true
  local e = entry(field)
  if e and stays(e, version) then
    if e.history == '-' then e.history = history end
    if e.version == version then
      e.state = state
      set_shown(e, '-')
    end
    put(field, e)
  else
    if e then set_shown(e, '-') end
    put(field, {version = version, shown = '-', touched = clock[1], state = state, history = history})
  end
end
if ARGV[2] ~= 'entries' then
  for _, field in ipairs(redis.call('HKEYS', window)) do
    if field:sub(1, 1) ~= '~' and not given[field] then
      local e = entry(field)
      if not e or not stays(e, '0') then
        redis.call('HDEL', window, field)
      elseif e.history == '-' and ARGV[2] == 'all' then
        e.history = '0:0'
        put(field, e)
      end
    end
  end
  redis.call('HSET', window, '~b', clock[1])
  redis.call('HDEL', window, '~f')
  if ARGV[2] == 'all' then redis.call('HSET', window, '~f', '1') end
end
trim(ARGV[5])
live(ARGV[3], ARGV[4])
return 1
