-- What the scripts of windows share; it stands before each of them.
--
-- A window is a hash. A field is s and the bizId; its value is two entries with a
-- semicolon between them, of the reaction and of the collection. What is absent is
-- empty; an entry is five words:
--
--   version  of the latest action, microseconds since 1970; 0: none ever
--   shown    q: confirmed by the queue, not in the database yet; m: marked by a
--            transaction that may not have committed yet; -: persisted
--   touched  when it was last written or looked at, seconds since 1970
--   state    as the user sees it. A reaction that conditional clears concern is
--            reaction:set:unlike:undislike: also the versions of the latest
--            unconditional action and of the latest clear of each reaction, 0
--            where none is above that. version is the highest of them. The
--            reaction is then 0 for none, or 0? where nothing but clears is known
--   history  V:share,V:share…, oldest first: what the counts of version V and
--            later include of it; -: not known: ask the database
--
-- Fields that begin with ~ tell of the window:
--
--   ~b  when it was loaded from the database, seconds since 1970
--   ~f  1: what is absent is known to be none
--   ~l  the lease: who fills must bring it, and every write takes it away
--   ~g  no lease before this time, milliseconds since 1970
--   ~n  how many entries are shown
--
-- Arguments name an entry by a letter for its kind (r: reaction, c: collection)
-- and the bizId. Numbers stay text: as numbers, Lua would print them rounded.
local window = KEYS[1]
local clock = redis.call('TIME')
local now = tonumber(clock[1])
local now_ms = now * 1000 + math.floor(tonumber(clock[2]) / 1000)

local function field_of(name) return 's' .. name:sub(2) end

-- beside has the other entry of the field, of each entry that was read last.
local beside = {}

local function joined(name, text)
  if name:byte(1) == 114 then return text .. ';' .. beside[name] end -- r
  return beside[name] .. ';' .. text
end

-- drop removes an entry that was read.
local function drop(name)
  if beside[name] == '' then
    redis.call('HDEL', window, field_of(name))
  else
    redis.call('HSET', window, field_of(name), joined(name, ''))
  end
end

-- unpacked takes an entry out of the value of its field. It removes a malformed
-- one and makes the window one that is not loaded: the database knows the state. It
-- then returns nil and true.
local function unpacked(name, value)
  beside[name] = ''
  if not value then return nil end
  local text, other = value:match('^([^;]*);([^;]*)$')
  if name:byte(1) ~= 114 then text, other = other, text end
  beside[name] = other or ''
  if text == '' then return nil end
  local version, shown, touched, state, history
  if text then version, shown, touched, state, history = text:match('^(%d+) ([qm-]) (%d+) (%S+) (%S+)$') end
  if not version then
    drop(name)
    redis.call('HDEL', window, '~b', '~f', '~l')
    return nil, true
  end
  return {version = version, shown = shown, touched = touched, state = state, history = history}
end

local function entry(name) return unpacked(name, redis.call('HGET', window, field_of(name))) end

-- head reads what the window says of itself, and the entry of a name, at once: each
-- command costs. It returns the entry, the lease, how many entries are shown, and
-- whether what is absent is known to be none.
local function head(name)
  local all = redis.call('HMGET', window, '~l', '~n', '~f', field_of(name))
  local e, malformed = unpacked(name, all[4])
  return e, all[1], tonumber(all[2] or '0'), all[3] == '1' and not malformed
end

-- known_none is the entry of what is absent from a window that holds all.
local function known_none()
  return {version = '0', shown = '-', touched = '0', state = '-', history = '0:0'}
end

local function packed(e) return table.concat({e.version, e.shown, e.touched, e.state, e.history}, ' ') end

-- put writes an entry that was read and, if given, how many are shown.
local function put(name, e, shown)
  if shown then
    redis.call('HSET', window, field_of(name), joined(name, packed(e)), '~n', shown)
  else
    redis.call('HSET', window, field_of(name), joined(name, packed(e)))
  end
end

-- newer tells whether version a is above version b.
local function newer(a, b) return tonumber(a) > tonumber(b) end

-- parts are those of a state: the reaction or folder, set, unlike and undislike.
local function parts(version, state)
  local value, set, unlike, undislike = state:match('^([012]%??):(%d+):(%d+):(%d+)$')
  if value then return value, set, unlike, undislike end
  return state == '-' and '0' or state, version, '0', '0'
end

local function latest(a, b) return newer(b, a) and b or a end

-- join merges a state of a version into an entry, as storage.Register says. Of the
-- same version the entry wins, unless ties is true. Returns whether the entry has
-- changed, and whether it holds nothing now that the given state lacks.
local function join(e, version, state, ties)
  if not (state:find(':', 1, true) or e.state:find(':', 1, true)) then
    local covered = not newer(e.version, version)
    local changed = newer(version, e.version) or (ties and covered and state ~= e.state)
    if changed then e.version, e.state = version, state end
    return changed, covered
  end
  local was, before = e.version, e.state
  local value, set, unlike, undislike = parts(e.version, e.state)
  local its_value, its_set, its_unlike, its_undislike = parts(version, state)
  if newer(its_set, set) or (ties and not newer(set, its_set)) then value, set = its_value, its_set end
  unlike, undislike = latest(unlike, its_unlike), latest(undislike, its_undislike)
  if not newer(unlike, set) then unlike = '0' end
  if not newer(undislike, set) then undislike = '0' end
  if value == '1' and unlike ~= '0' or value == '2' and undislike ~= '0' then value = '0' end
  e.version, e.state = set, value == '0' and '-' or value
  if unlike ~= '0' or undislike ~= '0' then
    e.version = latest(set, latest(unlike, undislike))
    e.state = table.concat({value, set, unlike, undislike}, ':')
  end
  return e.version ~= was or e.state ~= before, e.version == version and e.state == state
end

local function set_shown(e, shown)
  if (e.shown == 'q') ~= (shown == 'q') then
    redis.call('HINCRBY', window, '~n', shown == 'q' and 1 or -1)
  end
  e.shown = shown
end

local function anything_shown() return tonumber(redis.call('HGET', window, '~n') or '0') > 0 end

-- live sets how long the window lives: longer while something is shown.
local function live(life, shown_life)
  redis.call('PEXPIRE', window, anything_shown() and shown_life or life)
end

-- bar keeps everyone from filling the window for some milliseconds. The window
-- stays for a life: were it the first to end, it would be the first to be evicted.
local function bar(ms, life)
  local until_ms = now_ms + ms
  if tonumber(redis.call('HGET', window, '~g') or '0') < until_ms then
    redis.call('HSET', window, '~g', string.format('%.0f', until_ms))
  end
  local stay = math.max(tonumber(ms), tonumber(life))
  if redis.call('PTTL', window) < stay then redis.call('PEXPIRE', window, string.format('%.0f', stay)) end
end

-- trim drops the subjects that were not touched for longest, once there are a
-- quarter more than the limit. Those of which anything is shown stay.
local function trim(limit)
  limit = tonumber(limit)
  local excess = redis.call('HLEN', window) - limit - limit / 4
  if excess <= 0 or excess <= tonumber(redis.call('HGET', window, '~n') or '0') then return end
  local all, oldest = redis.call('HGETALL', window), {}
  for i = 1, #all, 2 do
    local stays, last = all[i]:sub(1, 1) == '~', 0
    for shown, touched in all[i + 1]:gmatch('%d+ ([qm-]) (%d+) [^; ]+ [^; ]+') do
      stays, last = stays or shown == 'q', math.max(last, tonumber(touched))
    end
    if not stays then oldest[#oldest + 1] = {all[i], last} end
  end
  table.sort(oldest, function(a, b) return a[2] < b[2] end)
  for i = 1, math.min(#oldest, #all / 2 - limit) do redis.call('HDEL', window, oldest[i][1]) end
  redis.call('HDEL', window, '~f')
end
