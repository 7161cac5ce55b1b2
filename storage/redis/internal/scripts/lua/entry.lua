-- This is the prelude of all scripts on windows.
--
-- A window is a hash. The name of a field is s followed by the bizId. Its value holds the
-- entries of the reaction, the collection and the follow, separated by semicolons. An
-- absent entry is empty, and an absent follow is omitted with its semicolon. A follow that
-- is known to be none is 0; any other entry has five words:
--
--   version  of the latest action, microseconds since 1970; 0: never set
--   shown    q: confirmed by the queue, not in the database yet; m: marked by a
--            transaction that may not have committed yet; -: persisted
--   touched  time of the last write or renewal, seconds since 1970
--   state    as the user sees it. A reaction with conditional clears is
--            reaction:set:unlike:undislike, with the versions of the latest
--            unconditional action and of the latest clear of each reaction; the
--            version of a clear is 0 if there is none above set. version is the highest
--            of the three. The reaction is then 0 for none, or 0? if only clears are known
--   history  V:share,V:share…, oldest first: what the counts of version V and later
--            include of the state; -: unknown, read the database
--
-- Fields that begin with ~ describe the window:
--
--   ~b  when it was loaded from the database, seconds since 1970
--   ~f  1: absent entries are known to be unset
--   ~l  the lease: needed to fill the window, and revoked by every write
--   ~g  no lease is granted before this time, milliseconds since 1970
--   ~n  number of entries with shown = q
--
-- In arguments, an entry is named by a letter for its kind (r: reaction, c: collection, f:
-- follow) and the bizId. Numbers stay strings, since Lua would round them.
local window = KEYS[1]
local clock = redis.call('TIME')
local now = tonumber(clock[1])
local now_ms = now * 1000 + math.floor(tonumber(clock[2]) / 1000)

local function field_of(name) return 's' .. name:sub(2) end

-- The kinds, in the order of the entries in a field.
local kinds, places = {'r', 'c', 'f'}, {r = 1, c = 2, f = 3}

local function place_of(name) return places[name:sub(1, 1)] end

-- texts maps the name of each entry that was read to the texts of all entries in its
-- field.
local texts = {}

-- joined returns the value of the field with a new text for an entry.
local function joined(name, text)
  local all = texts[name]
  all[place_of(name)] = text
  local value = all[1] .. ';' .. all[2]
  if all[3] ~= '' then value = value .. ';' .. all[3] end
  return value
end

-- drop removes an entry that was read.
local function drop(name)
  local value = joined(name, '')
  if value == ';' then
    redis.call('HDEL', window, field_of(name))
  else
    redis.call('HSET', window, field_of(name), value)
  end
end

-- known_none returns an entry that is known never to have been set. It stands for an entry
-- that a complete window lacks.
local function known_none()
  return {version = '0', shown = '-', touched = '0', state = '-', history = '0:0'}
end

-- split stores the texts of the entries that the value of a field holds, and returns whether
-- there are two or three of them. Plain finds are faster than a pattern.
local function split(value, texts)
  local first = value:find(';', 1, true)
  if not first then return false end
  local second = value:find(';', first + 1, true)
  if second and value:find(';', second + 1, true) then return false end
  texts[1], texts[2] = value:sub(1, first - 1), value:sub(first + 1, second and second - 1)
  if second then texts[3] = value:sub(second + 1) end
  return true
end

-- unpacked returns an entry from the value of its field. If the entry is malformed,
-- unpacked removes it, marks the window as not loaded, so that the state is read from the
-- database, and returns nil and true.
local function unpacked(name, value)
  local place, all = place_of(name), {'', '', ''}
  texts[name] = all
  local whole = not value or split(value, all)
  local text = all[place]
  if whole and text == '' then return nil end
  if text == '0' and place == 3 then return known_none() end
  local version, shown, touched, state, history = text:match('^(%d+) ([qm-]) (%d+) (%S+) (%S+)$')
  if not version then
    drop(name)
    redis.call('HDEL', window, '~b', '~f', '~l')
    return nil, true
  end
  return {version = version, shown = shown, touched = touched, state = state, history = history}
end

local function entry(name) return unpacked(name, redis.call('HGET', window, field_of(name))) end

-- head reads the fields that describe the window, and one entry, with one command. It
-- returns the entry, the lease, the number of shown entries, and whether absent entries are
-- known to be unset.
local function head(name)
  local all = redis.call('HMGET', window, '~l', '~n', '~f', field_of(name))
  local e, malformed = unpacked(name, all[4])
  return e, all[1], tonumber(all[2] or '0'), all[3] == '1' and not malformed
end

local function packed(name, e)
  if place_of(name) == 3 and e.version == '0' and e.shown == '-' and e.history == '0:0' then return '0' end
  return e.version .. ' ' .. e.shown .. ' ' .. e.touched .. ' ' .. e.state .. ' ' .. e.history
end

-- put writes an entry that was read and, if given, the number of shown entries.
local function put(name, e, shown)
  if shown then
    redis.call('HSET', window, field_of(name), joined(name, packed(name, e)), '~n', ('%d'):format(shown))
  else
    redis.call('HSET', window, field_of(name), joined(name, packed(name, e)))
  end
end

-- newer reports whether version a is above version b. Both have no leading zeros.
local function newer(a, b) return #a > #b or #a == #b and a > b end

-- parts returns the parts of a state: the reaction or folder, set, unlike and undislike.
local function parts(version, state)
  local value, set, unlike, undislike = state:match('^([012]%??):(%d+):(%d+):(%d+)$')
  if value then return value, set, unlike, undislike end
  return state == '-' and '0' or state, version, '0', '0'
end

local function latest(a, b) return newer(b, a) and b or a end

-- join merges a state of a version into an entry, like storage.Register. If the versions
-- are equal, the entry wins unless ties is true. join returns whether the entry has changed,
-- and whether the given state includes everything that is in the entry now.
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

-- live sets the life of the window: longer if any entry is shown.
local function live(life, shown_life)
  redis.call('PEXPIRE', window, anything_shown() and shown_life or life)
end

-- bar blocks fills of the window for some milliseconds. The window keeps at least its normal
-- life, since the key with the shortest remaining life would be evicted first.
local function bar(ms, life)
  local until_ms = now_ms + ms
  if tonumber(redis.call('HGET', window, '~g') or '0') < until_ms then
    redis.call('HSET', window, '~g', string.format('%.0f', until_ms))
  end
  local stay = math.max(tonumber(ms), tonumber(life))
  if redis.call('PTTL', window) < stay then redis.call('PEXPIRE', window, string.format('%.0f', stay)) end
end

-- trim removes the least recently touched subjects if there are over a quarter more than
-- the limit. Subjects with a shown entry stay.
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
