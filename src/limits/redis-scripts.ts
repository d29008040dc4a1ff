import { redisScript } from '../storage/redis.ts';

/**
 * The counters as Redis keeps them. Each script runs alone, so what it reads is still true when it writes.
 *
 *     …:epoch          the epoch that may count here; a script that comes with another one changes nothing
 *     …:<epoch>:holds  hash, reservation id → what is held, as JSON
 *     …:<epoch>:due    sorted set, reservation id → when its hold ends, by the clock of Redis
 *     …:<epoch>:ended  sorted set, reservation id → when its hold ended without a settlement
 *     …:<epoch>:c:…    hash per counter: u used, h held
 *
 * Names of counters are arguments, not keys: they share a hash tag with the keys, and so their slot. Sums are whole
 * numbers below 2^53, which Lua's numbers hold exactly.
 */

const GUARD = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return false end";

const NOW = `local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end`;

/** A counter that is gone belongs to a window that nobody asks for any more; it must not come back without an end. */
const ADD = `local function add(counter, field, amount)
  local key = ARGV[2] .. counter
  if redis.call('EXISTS', key) == 0 then return end
  if redis.call('HINCRBY', key, field, amount) < 0 then redis.call('HSET', key, field, 0) end
end
local function minus(left, right) return string.format('%.0f', left - right) end`;

/**
 * ARGV: epoch, prefix, id, hold ms, record, then counter, max, amount, end for each charge.
 * Answers whether it is admitted, whether holds are due, then used and used + held for each charge.
 */
export const RESERVE = redisScript(`${GUARD}
${NOW}
local time = now()
local due = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', time, 'LIMIT', 0, 1)
local answer = {1, #due}
local fits = true
for at = 6, #ARGV, 4 do
  local sums = redis.call('HMGET', ARGV[2] .. ARGV[at], 'u', 'h')
  local used = tonumber(sums[1] or 0)
  local level = used + tonumber(sums[2] or 0)
  if level + math.max(tonumber(ARGV[at + 2]), 1) > tonumber(ARGV[at + 1]) then fits = false end
  answer[#answer + 1] = used
  answer[#answer + 1] = level
end
if redis.call('HEXISTS', KEYS[2], ARGV[3]) == 1 then return answer end
if not fits then
  answer[1] = 0
  return answer
end
for at = 6, #ARGV, 4 do
  local key = ARGV[2] .. ARGV[at]
  local isNew = redis.call('EXISTS', key) == 0
  redis.call('HINCRBY', key, 'h', ARGV[at + 2])
  if isNew and ARGV[at + 3] ~= '' then redis.call('PEXPIREAT', key, ARGV[at + 3]) end
  local level = 4 + (at - 6) / 2
  answer[level] = answer[level] + tonumber(ARGV[at + 2])
end
redis.call('HSET', KEYS[2], ARGV[3], ARGV[5])
redis.call('ZADD', KEYS[3], time + tonumber(ARGV[4]), ARGV[3])
return answer`);

/** ARGV: epoch, prefix, id, then counter, held, actual for each charge. An id that is not known was settled before. */
export const SETTLE = redisScript(`${GUARD}
${ADD}
local isHeld = redis.call('HDEL', KEYS[2], ARGV[3]) == 1
if isHeld then redis.call('ZREM', KEYS[3], ARGV[3]) end
if not isHeld and redis.call('ZREM', KEYS[4], ARGV[3]) == 0 then return 0 end
for at = 4, #ARGV, 3 do
  if isHeld then
    add(ARGV[at], 'h', minus(0, ARGV[at + 1]))
    add(ARGV[at], 'u', ARGV[at + 2])
  else
    add(ARGV[at], 'u', minus(ARGV[at + 2], ARGV[at + 1]))
  end
end
return 1`);

/** ARGV: epoch, most. Ids and records of holds that should have ended. */
export const DUE = redisScript(`${GUARD}
${NOW}
local ids = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now(), 'LIMIT', 0, ARGV[2])
local answer = {}
for _, id in ipairs(ids) do
  answer[#answer + 1] = id
  answer[#answer + 1] = redis.call('HGET', KEYS[2], id)
end
return answer`);

/** ARGV: epoch, prefix, id, then counter, held for each charge. Nothing when it was settled or renewed meanwhile. */
export const END_HOLD = redisScript(`${GUARD}
${NOW}
${ADD}
local time = now()
local due = redis.call('ZSCORE', KEYS[3], ARGV[3])
if not due or tonumber(due) > time then return 0 end
redis.call('ZREM', KEYS[3], ARGV[3])
redis.call('HDEL', KEYS[2], ARGV[3])
redis.call('ZADD', KEYS[4], time, ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', time - 86400000)
for at = 4, #ARGV, 2 do
  add(ARGV[at], 'h', minus(0, ARGV[at + 1]))
  add(ARGV[at], 'u', ARGV[at + 1])
end
return 1`);

/** ARGV: epoch, hold ms, ids. */
export const RENEW = redisScript(`${GUARD}
${NOW}
local ends = now() + tonumber(ARGV[2])
for at = 3, #ARGV do redis.call('ZADD', KEYS[3], 'XX', ends, ARGV[at]) end
return 1`);

/** ARGV: epoch, prefix, counters. */
export const READ = redisScript(`${GUARD}
local answer = {}
for at = 3, #ARGV do
  local sums = redis.call('HMGET', ARGV[2] .. ARGV[at], 'u', 'h')
  answer[#answer + 1] = tonumber(sums[1] or 0)
  answer[#answer + 1] = tonumber(sums[2] or 0)
end
return answer`);

/** ARGV: epoch, prefix, counters. */
export const RESET = redisScript(`${GUARD}
for at = 3, #ARGV do
  local key = ARGV[2] .. ARGV[at]
  if redis.call('EXISTS', key) == 1 then redis.call('HSET', key, 'u', 0) end
end
return 1`);

/** ARGV: prefix, then counter, used, held, end for each. */
export const LOAD_COUNTERS = redisScript(`for at = 2, #ARGV, 4 do
  local key = ARGV[1] .. ARGV[at]
  redis.call('HSET', key, 'u', ARGV[at + 1], 'h', ARGV[at + 2])
  if ARGV[at + 3] ~= '' then redis.call('PEXPIREAT', key, ARGV[at + 3]) end
end
return 1`);

/** KEYS: epoch, holds, due. ARGV: id, record, ms left for each. */
export const LOAD_HOLDS = redisScript(`${NOW}
local time = now()
for at = 1, #ARGV, 3 do
  redis.call('HSET', KEYS[2], ARGV[at], ARGV[at + 1])
  redis.call('ZADD', KEYS[3], time + tonumber(ARGV[at + 2]), ARGV[at])
end
return 1`);

export const BEGIN_LOAD = redisScript(`redis.call('ZADD', KEYS[4], 0, 'loading')
return 1`);

/** Not when Redis lost its memory between the first and the last word of what was loaded. */
export const OPEN = redisScript(`if redis.call('ZREM', KEYS[4], 'loading') == 0 then return false end
redis.call('SET', KEYS[1], ARGV[1])
return 1`);

export const WITHDRAW = redisScript(`${GUARD}
redis.call('DEL', KEYS[1])
return 1`);

export const CHECK = redisScript(`${GUARD}
return 1`);

/** KEYS: epoch. ARGV: pattern of all our keys, prefix of those that stay, cursor. Answers the next cursor. */
export const REMOVE_OTHERS = redisScript(`local found = redis.call('SCAN', ARGV[3], 'MATCH', ARGV[1], 'COUNT', 500)
for _, key in ipairs(found[2]) do
  if key ~= KEYS[1] and string.sub(key, 1, #ARGV[2]) ~= ARGV[2] then redis.call('UNLINK', key) end
end
return found[1]`);
