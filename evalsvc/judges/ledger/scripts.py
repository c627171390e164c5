"""What happens in Redis before and after a call, each in one step.

KEYS of both: the calls and the tokens of the last minute, until when a 429 blocks, the day's spending, the 429 in a
row, the semaphore, the breaker.
"""

from __future__ import annotations

from evalsvc.infra.redis import CLOCK, Script

PASSED, CIRCUIT_OPEN, NO_PERMIT, NOT_YET, NO_MONEY = range(5)
"""What ACQUIRE answers first; then the milliseconds to stay out, and the code and the words of an open circuit. Of a
call that passed, 1 in place of the milliseconds says that it is the probe of a half-open circuit."""

# All or nothing: a call that passes an open breaker also gets a permit and is counted. A slot counts while any call in
# it can be within the last 60 s, so it expires 61 s after its start. Permits are leases: one that is not released
# expires when its call must have ended.
ACQUIRE = Script(
    CLOCK,
    """
local now, ms = clock()
local tokens, rpm, tpm = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local cost, budget, kept = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]
local permits, lease, permit = tonumber(ARGV[7]), tonumber(ARGV[8]), ARGV[9]
local probe = tonumber(ARGV[10])
local open_until = 0
if probe > 0 then
  open_until = tonumber(redis.call('HGET', KEYS[7], 'until') or '0')
  if ms < open_until then
    local why = redis.call('HMGET', KEYS[7], 'code', 'detail', 'probing')
    -- A probe is soon over; the rest of its time is only needed when its worker was killed.
    local stay = why[3] and math.min(open_until - ms, 2000) or open_until - ms
    return {1, stay, why[1] or '', why[2] or ''}
  end
end
if permits > 0 then
  redis.call('ZREMRANGEBYSCORE', KEYS[6], '-inf', ms)
  if redis.call('ZCARD', KEYS[6]) >= permits then return {2, 0} end
end
local wait = 0
local blocked = tonumber(redis.call('GET', KEYS[3]) or '0')
if blocked > ms then wait = blocked - ms end
local function window(key, n, limit)
  local slots, total, old = {}, 0, {}
  local all = redis.call('HGETALL', key)
  for i = 1, #all, 2 do
    local slot = tonumber(all[i])
    if now - slot >= 61 then old[#old + 1] = all[i]
    else slots[#slots + 1] = {slot, tonumber(all[i + 1])}; total = total + tonumber(all[i + 1]) end
  end
  if #old > 0 then redis.call('HDEL', key, unpack(old)) end
  if total + n <= limit then return end
  table.sort(slots, function(a, b) return a[1] < b[1] end)
  for _, entry in ipairs(slots) do
    total = total - entry[2]
    if total + n <= limit then wait = math.max(wait, (entry[1] + 61) * 1000 - ms); return end
  end
end
local calls = 1
if rpm > 0 then window(KEYS[1], calls, rpm) end
if tpm > 0 then tokens = math.min(tokens, tpm); window(KEYS[2], tokens, tpm) end
if budget >= 0 then
  local spent = tonumber(redis.call('GET', KEYS[4]) or '0')
  if spent + cost > budget or spent >= budget then return {4, 0} end
end
if wait > 0 then return {3, wait} end
if open_until > 0 then redis.call('HSET', KEYS[7], 'until', string.format('%d', ms + probe), 'probing', '1') end
if permits > 0 then redis.call('ZADD', KEYS[6], ms + lease, permit); redis.call('PEXPIRE', KEYS[6], lease + 60000) end
if rpm > 0 then redis.call('HINCRBY', KEYS[1], now, calls); redis.call('EXPIRE', KEYS[1], 62) end
if tpm > 0 then redis.call('HINCRBY', KEYS[2], now, tokens); redis.call('EXPIRE', KEYS[2], 62) end
if cost > 0 then redis.call('INCRBY', KEYS[4], ARGV[4]); redis.call('EXPIRE', KEYS[4], kept) end
return {0, open_until > 0 and 1 or 0}
""",
)
# Tokens that were not used are taken from the oldest slots: those are let go first, so the sum is never too small. The
# pause of the breaker doubles with each failed probe; a probe that reveals nothing lets another one pass. Failures of
# calls that were under way when it opened are not counted.
RELEASE = Script(
    CLOCK,
    """
local now, ms = clock()
local more, tpm = tonumber(ARGV[1]), tonumber(ARGV[2])
if tpm > 0 and more > 0 then redis.call('HINCRBY', KEYS[2], now, more); redis.call('EXPIRE', KEYS[2], 62) end
if tpm > 0 and more < 0 then
  local all = redis.call('HGETALL', KEYS[2])
  local slots = {}
  for i = 1, #all, 2 do slots[#slots + 1] = {tonumber(all[i]), tonumber(all[i + 1])} end
  table.sort(slots, function(a, b) return a[1] < b[1] end)
  for _, entry in ipairs(slots) do
    local part = math.min(entry[2], -more)
    if part > 0 then redis.call('HINCRBY', KEYS[2], entry[1], -part); more = more + part end
  end
end
if tonumber(ARGV[3]) ~= 0 then
  local spent = tonumber(redis.call('INCRBY', KEYS[4], ARGV[3]))
  if spent < 0 then redis.call('SET', KEYS[4], 0) end
  redis.call('EXPIRE', KEYS[4], ARGV[4])
end
if ARGV[5] == '1' then redis.call('DEL', KEYS[5]) end
if ARGV[6] ~= '' then redis.call('ZREM', KEYS[6], ARGV[6]) end
local weight, is_probe = tonumber(ARGV[7]), ARGV[14] == '1'
if weight < 0 then
  if is_probe then redis.call('HSET', KEYS[7], 'until', string.format('%d', ms)) end
  return 0
end
if weight == 0 then redis.call('DEL', KEYS[7]); return 0 end
if not is_probe and ms < tonumber(redis.call('HGET', KEYS[7], 'until') or '0') then return 0 end
local n, needed = redis.call('HINCRBY', KEYS[7], 'n', weight), tonumber(ARGV[8])
redis.call('EXPIRE', KEYS[7], ARGV[11])
if n < needed then return 0 end
local pause = math.min(tonumber(ARGV[10]), tonumber(ARGV[9]) * 2 ^ math.min(n - needed, 10))
local fields = {'until', string.format('%d', ms + pause * 1000), 'code', ARGV[12], 'detail', ARGV[13]}
redis.call('HSET', KEYS[7], unpack(fields))
redis.call('HDEL', KEYS[7], 'probing')
return 0
""",
)
# A 429 while the connection is blocked belongs to a call that was in flight, and changes nothing.
BLOCK = Script(
    CLOCK,
    """
local _, ms = clock()
local blocked, wait = tonumber(redis.call('GET', KEYS[1]) or '0'), tonumber(ARGV[1])
if wait < 0 then
  if blocked > ms then return blocked - ms end
  local strikes = redis.call('INCR', KEYS[2])
  redis.call('EXPIRE', KEYS[2], 300)
  wait = math.min(60000, 1000 * 2 ^ (math.min(strikes, 10) - 1))
end
blocked = math.max(blocked, ms + wait)
redis.call('SET', KEYS[1], string.format('%d', blocked), 'PX', string.format('%d', blocked - ms + 1000))
return blocked - ms
""",
)
