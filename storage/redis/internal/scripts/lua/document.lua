-- document registers a document under its hash, and evicts the oldest registrations if
-- there are too many documents or bytes.
--
-- KEYS[1] the documents of a tenant. Fields: the hash of each document, holding its text;
--         ~N, holding the hash of registration number N, for each N from ~first to ~next
--         minus 1; ~first, ~next; ~bytes, the total length of the texts
-- ARGV[1] hash of the document, ARGV[2] its text
-- ARGV[3] maximum number of documents, ARGV[4] maximum number of bytes
-- ARGV[5] life since the latest registration, in milliseconds
-- Returns 1 if the document is new, 0 if it was registered already.
local key = KEYS[1]
redis.call('PEXPIRE', key, ARGV[5])
if redis.call('HEXISTS', key, ARGV[1]) == 1 then return 0 end
local there = redis.call('HMGET', key, '~first', '~next', '~bytes')
local first, after = tonumber(there[1]) or 0, tonumber(there[2]) or 0
local bytes = (tonumber(there[3]) or 0) + #ARGV[2]
redis.call('HSET', key, ARGV[1], ARGV[2], '~' .. after, ARGV[1])
after = after + 1
while first < after - 1 and (after - first > tonumber(ARGV[3]) or bytes > tonumber(ARGV[4])) do
  local oldest = redis.call('HGET', key, '~' .. first)
  if oldest then
    bytes = bytes - redis.call('HSTRLEN', key, oldest)
    redis.call('HDEL', key, oldest, '~' .. first)
  end
  first = first + 1
end
redis.call('HSET', key, '~first', first, '~next', after, '~bytes', bytes)
redis.call('PEXPIRE', key, ARGV[5])
return 1
