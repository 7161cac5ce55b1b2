-- reads notes reads of a user, each as one word:
--
--   id:version:times:from:to:touched
--
-- id is the bizId, escaped. Counts whose version is below from lack the read,
-- those from to on include it; of those in between that is not known. -: no
-- counts are as far as that. touched is when it was noted, seconds since 1970.
-- Before the words stand the highest version of those that were dropped, when
-- they were last tidied, how many there are, and when some were last dropped that
-- no counts are known to include, 0: never. They are found and changed in place:
-- to take all of them apart costs more than everything else.
--
-- What counts include is dropped after a while, what none do stays. Once there
-- are a quarter too many, the former go first, the oldest before others. What is
-- dropped shows once it is persisted, and is not shown again.
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
local dropped, tidied, count, gone = value:match('^(%d+) (%d+) (%d+) (%d+)')
local words = dropped and value:match('^%d+ %d+ %d+ %d+(.*)$') or '' -- a space before each
dropped, tidied, count, gone = dropped or '0', tonumber(tidied or now), tonumber(count or 0), gone or '0'
local pending = tonumber(redis.call('HGET', window, '~p') or '0')

local function parse(rest)
  local times, from, to, touched = rest:match('^(%d+):([%d-]+):([%d-]+):(%d+)$')
  return {times = times, from = from, to = to, touched = touched}
end

-- find returns a word, and where it begins and ends.
local function find(key)
  local first, colon = words:find(' ' .. key .. ':', 1, true)
  if not first then return nil end
  local last = (words:find(' ', colon, true) or #words + 1) - 1
  local w = parse(words:sub(colon + 1, last))
  return w.times and w, first, last
end

-- put puts a word, or nothing, in the place of another or at the end.
local function put_word(key, w, first, last)
  local word = w and table.concat({' ' .. key, w.times, w.from, w.to, clock[1]}, ':') or ''
  words = words:sub(1, (first or 0) - 1) .. word .. words:sub((last or #words) + 1)
end

local function drop(key)
  local version = key:match('%d+$')
  if newer(version, dropped) then dropped = version end
end

-- note returns what is known of a read, nil where it is nothing.
local function note(w, how, key, times, v)
  if how == '-' then
    drop(key)
    return nil
  elseif not w then
    if how == 'f' or how == 'q' and not newer(key:match('%d+$'), dropped) then return nil end
    local from = how == 'm' and v or how == 'b' and '0' or '-'
    return {times = times, from = from, to = how == 'q' and '-' or v}
  elseif how == 'm' and (w.from == '-' or not newer(w.from, v)) then
    w.from, w.to = v, v
  elseif how == 'b' and w.to == '-' then
    if w.from == '-' or w.from == '0' then w.from, w.to = '0', v else w.to = w.from end
  elseif how == 'f' and w.from ~= '-' then
    w.to = '-'
  end
  return w
end

local function change(how, key, times, v)
  local w, first, last = find(key)
  if w then
    count = count - 1
    if w.to == '-' then pending = pending - 1 end
  end
  local noted = note(w, how, key, times, v)
  if noted then
    count = count + 1
    if noted.to == '-' then pending = pending + 1 end
  end
  if w or noted then put_word(key, noted, first, last) end
end

-- tidy drops what is old, and what is too much.
local function tidy(stay, limit)
  local all, excess = {}, -limit
  for key, rest in words:gmatch(' ([^ :]+:%d+):(%S+)') do
    local w = parse(rest)
    w.text, w.key, w.included = ' ' .. key .. ':' .. rest, key, w.to and w.to ~= '-'
    w.gone = not w.to or w.included and now - tonumber(w.touched) >= stay
    if not w.gone then excess = excess + 1 end
    all[#all + 1] = w
  end
  local kept = {}
  for _, included in ipairs({true, false}) do
    for _, w in ipairs(all) do
      if excess > 0 and not w.gone and w.included == included then w.gone, excess = true, excess - 1 end
    end
  end
  count, pending, tidied = 0, 0, now
  for _, w in ipairs(all) do
    if not w.gone then
      kept[#kept + 1], count = w.text, count + 1
      if not w.included then pending = pending + 1 end
    elseif w.included then
      drop(w.key)
    elseif w.to then
      gone = clock[1]
    end
  end
  words = table.concat(kept)
end

for i = 5, #ARGV, 4 do change(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]) end
local stay, limit = tonumber(ARGV[3]), tonumber(ARGV[4])
if count > limit + limit / 4 or now - tidied >= stay / 2 then tidy(stay, limit) end
if count > 0 or dropped ~= '0' then
  redis.call('HSET', window, '~w', dropped .. ' ' .. tidied .. ' ' .. count .. ' ' .. gone .. words, '~p', pending)
  live(ARGV[1], ARGV[2])
end
return pending
