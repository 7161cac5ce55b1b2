-- reads notes reads of a user, each as one word:
--
--   id:version:times:from:to:touched
--
-- id is the bizId, escaped. Counts whose version is below from lack the read,
-- those from to on include it; of those in between that is not known. -: none
-- are as far as that. touched is when it was noted, seconds since 1970. Before
-- the words stands the highest version of those that were dropped.
--
-- What counts include is dropped after a while, what none do stays. Where there
-- are too many the former go first, the oldest before others. What is dropped
-- shows once it is persisted, and is not shown again.
--
-- KEYS[1] the window
-- ARGV[1] life of the window, in milliseconds
-- ARGV[2] life of the window while something is shown, in milliseconds
-- ARGV[3] how long a read stays that counts include, in seconds
-- ARGV[4] how many stay at most
-- ARGV[5…] of each: how, id:version, times, V. How is
--         q: the queue has confirmed it, and nothing is known of counts
--         m: counts from V on include it
--         b: a transaction before has persisted it, the one that marked it last.
--            Where that is not known, counts from V on include it for certain
--         f: the transaction that marked it may have been rolled back
--         -: it will not be persisted
-- Returns how many are not known to be in the counts.
local value = redis.call('HGET', window, '~w') or ''
local dropped, words, at = value:match('^%d+') or '0', {}, {}

local function drop(key)
  local version = key:match('%d+$')
  if newer(version, dropped) then dropped = version end
end

local function add(key, times, from, to)
  at[key] = {key = key, times = times, from = from, to = to, touched = clock[1]}
  words[#words + 1] = at[key]
end

for word in value:gmatch('%S+:%S+') do
  local key, times, from, to, touched = word:match('^([^:]+:%d+):(%d+):([%d-]+):([%d-]+):(%d+)$')
  if key and to ~= '-' and now - tonumber(touched) >= tonumber(ARGV[3]) then
    drop(key)
  elseif key then
    add(key, times, from, to)
    at[key].touched = touched
  end
end

local function included(w, from, to) w.from, w.to, w.touched = from, to, clock[1] end

for i = 5, #ARGV, 4 do
  local how, key, times, v = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  local w = at[key]
  if how == 'q' then
    if not w and newer(key:match('%d+$'), dropped) then add(key, times, '-', '-') end
  elseif how == '-' then
    drop(key)
    if w then w.gone = true end
  elseif how == 'f' then
    if w and w.from ~= '-' then w.to = '-' end
  elseif not w then
    add(key, times, how == 'm' and v or '0', v)
  elseif how == 'm' then
    if w.from == '-' or not newer(w.from, v) then included(w, v, v) end
  elseif w.to == '-' then
    if w.from == '-' or w.from == '0' then included(w, '0', v) else included(w, w.from, w.from) end
  end
end

local excess = #words - tonumber(ARGV[4])
for _, all in ipairs({false, true}) do
  for _, w in ipairs(words) do
    if excess > 0 and not w.gone and (all or w.to ~= '-') then
      w.gone, excess = true, excess - 1
      if w.to ~= '-' then drop(w.key) end
    end
  end
end

local kept, pending = {dropped}, 0
for _, w in ipairs(words) do
  if not w.gone then
    kept[#kept + 1] = table.concat({w.key, w.times, w.from, w.to, w.touched}, ':')
    if w.to == '-' then pending = pending + 1 end
  end
end
if #kept > 1 or dropped ~= '0' then
  redis.call('HSET', window, '~w', table.concat(kept, ' '), '~p', pending)
  live(ARGV[1], ARGV[2])
end
return pending
