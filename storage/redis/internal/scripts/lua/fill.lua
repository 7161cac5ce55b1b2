-- fill writes the states of the database into a window, unless a write has revoked the
-- lease, which was granted before the database was read.
--
-- KEYS[1] the window
-- ARGV[1] the lease
-- ARGV[2] all (the whole window), some (the window was loaded, but has more entries than
--         fit) or entries (single entries that were missing)
-- ARGV[3] life of the window, in milliseconds
-- ARGV[4] life of the window while an entry is shown, in milliseconds
-- ARGV[5] maximum number of subjects in the window
-- ARGV[6…] for each entry: name, version, state, history
-- Returns 1, or 0 if the lease was revoked.
--
-- An entry that was touched in the last minute and is not older than the state of the
-- database stays, with its history, since a transaction that has not committed yet may have
-- marked it. An entry that is shown or marked, and is not older, stays as well. The state
-- of the database is merged into entries that stay; if the versions are equal, the database
-- wins.
if redis.call('HGET', window, '~l') ~= ARGV[1] then return 0 end

local function recent(e) return e.shown ~= '-' or now - tonumber(e.touched) < 60 end

-- stays merges the state into an entry. It returns false if the entry must be replaced,
-- because its state is older or it was not touched recently.
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
    local value = field:sub(1, 1) == 's' and redis.call('HGET', window, field)
    for _, kind in ipairs(value and kinds or {}) do
      local name = kind .. field:sub(2)
      local e, written = nil, false
      if not given[name] then e, written = unpacked(name, value) end
      if e and not recent(e) then
        drop(name)
        written = true
      elseif e and e.history == '-' and ARGV[2] == 'all' then
        e.history = '0:0'
        put(name, e)
        written = true
      end
      if written then value = redis.call('HGET', window, field) end
    end
  end
  redis.call('HSET', window, '~b', clock[1])
  redis.call('HDEL', window, '~f')
  if ARGV[2] == 'all' then redis.call('HSET', window, '~f', '1') end
end
trim(ARGV[5])
live(ARGV[3], ARGV[4])
return 1
