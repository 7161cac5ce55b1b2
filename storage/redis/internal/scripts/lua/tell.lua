-- tell writes states that are committed into the user's entries, and from which version on
-- the counts include them. It changes nothing that is newer, so late and repeated calls are
-- harmless.
--
-- KEYS[1] the window
-- ARGV[1] life of the window, in milliseconds
-- ARGV[2] life of the window while an entry is shown, in milliseconds
-- ARGV[3] maximum number of subjects in the window
-- ARGV[4…] for each state: name, version, state, share, V. V is the version of the counts
--         from which on they include the share of the state; 0 if the counts have not
--         changed
-- Returns the number of entries that were written.
--
-- The life of an existing window is not extended: readers load it again in time.
local trim_every = 8 -- one of this many calls that add entries checks the size
local first, leased, shown, full = head(ARGV[4])
local written, added = 0, false
for i = 4, #ARGV, 5 do
  local name, version, state, share, v = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]
  local e, malformed = first, false
  if i > 4 then e, malformed = entry(name) end
  full = full and not malformed
  if not e and (full or v ~= '0') then
    e, added = known_none(), true
    e.history = '-'
  end
  if e then
    local before, was_shown = e.state, shown
    local _, covered = join(e, version, state, true)
    if covered then
      if e.shown == 'q' then shown = shown - 1 end
      e.shown = '-'
    end
    if v ~= '0' then
      local last = e.history:match('(%d+):%d+$')
      if not last or newer(v, last) then e.history = v .. ':' .. share end
    elseif covered and e.state ~= before then
      e.history = '-'
    end
    e.touched = clock[1]
    put(name, e, shown ~= was_shown and shown)
    written = written + 1
  end
end
if leased then redis.call('HDEL', window, '~l') end
if added and now_ms % trim_every == 0 then trim(ARGV[3]) end
if written > 0 and not (full or first) then redis.call('PEXPIRE', window, shown > 0 and ARGV[2] or ARGV[1]) end
return written
