-- fill puts what the database holds into a window, if no write has taken the
-- lease away since before the database was read.
--
-- KEYS[1] the window
-- ARGV[1] the lease
-- ARGV[2] what it holds: all, some (the window was loaded, and holds more than
--         fits) or entries (single ones that were missing)
-- ARGV[3] life of the window, in milliseconds
-- ARGV[4] life of the window while something is shown, in milliseconds
-- ARGV[5] of how many subjects it holds entries at most
-- ARGV[6…] of each entry: name, version, state, history
-- Returns 1, or 0 where the lease is gone.
--
-- What was touched in the last minute and is not older than the database
-- stays, with its history: it may be shown, or marked by a transaction that
-- has not committed yet. So does everything shown or marked. What the database
-- holds is merged into it; of the same version, the database knows better what it is.
if redis.call('HGET', window, '~l') ~= ARGV[1] then return 0 end

local function recent(e) return e.shown ~= '-' or now - tonumber(e.touched) < 60 end

-- stays merges the state into an entry. It returns false where the entry is to be
-- replaced: it is older, or too old to be kept.
local function stays(e, version, state)
  if not recent(e) then return false end
  local before = e.version
  local _, covered = join(e, version, state, true)
  if covered then set_shown(e, '-') end
  return not (covered and newer(version, before))
end

local given = {}
for i = 6, #ARGV, 4 do
  local name, version, state, history = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  given[name] = true
  local e = entry(name)
  if e and stays(e, version, state) then
    if e.history == '-' then e.history = history end
    put(name, e)
  else
    if e then set_shown(e, '-') end
    put(name, {version = version, shown = '-', touched = clock[1], state = state, history = history})
  end
end
if ARGV[2] ~= 'entries' then
  for _, field in ipairs(redis.call('HKEYS', window)) do
    for _, kind in ipairs(field:sub(1, 1) == 's' and {'r', 'c'} or {}) do
      local name = kind .. field:sub(2)
      local e = not given[name] and entry(name)
      if e and not recent(e) then
        drop(name)
      elseif e and e.history == '-' and ARGV[2] == 'all' then
        e.history = '0:0'
        put(name, e)
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
