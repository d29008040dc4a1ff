import { redisScript } from '../../storage/redis.ts';

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

/** A counter that is gone belongs to a window that has ended; it must not come back without an end. */
const ADD = `local function add(counter, field, amount)
  local key = ARGV[2] .. counter
  if redis.call('EXISTS', key) == 0 then return end
  if redis.call('HINCRBY', key, field, amount) < 0 then redis.call('HSET', key, field, 0) end
end
local function minus(left, right) return string.format('%.0f', left - right) end`;

/**
 * Settles calls, and then reserves for others. Each counter is read and written once, however many calls it counts.
 *
 * ARGV: epoch, prefix; how many counters, and name and end of each; how many settlements, and of each the id, how many
 * charges, and counter, held, actual of each; then for each reservation the id, hold ms, record, how many charges, and
 * counter, max, amount of each. Counters are told by their places in the list.
 *
 * Answers whether holds are due, and for each reservation whether it is admitted and used and used + held of each charge.
 * A settled id that is not known was settled before; a reserved one that is known is held already.
 */
export const APPLY = redisScript(`${GUARD}
${NOW}
local at = 2
local function word()
  at = at + 1
  return ARGV[at]
end
local function number() return tonumber(word()) end

local counters = {}
for index = 1, number() do
  local key = ARGV[2] .. word()
  local sums = redis.call('HMGET', key, 'u', 'h')
  counters[index] = {
    key = key, ends = word(), isKnown = sums[1] or sums[2], used = tonumber(sums[1] or 0), held = tonumber(sums[2] or 0)
  }
end
local function add(counter, field, amount)
  -- One that is gone belongs to a window that nobody asks for any more; it must not come back without an end.
  if not counter.isKnown then return end
  counter[field] = math.max(0, counter[field] + amount)
  counter.isChanged = true
end

for _ = 1, number() do
  local id = word()
  local isHeld = redis.call('HDEL', KEYS[2], id) == 1
  if isHeld then redis.call('ZREM', KEYS[3], id) end
  local isEnded = not isHeld and redis.call('ZREM', KEYS[4], id) == 1
  for _ = 1, number() do
    local counter, held, actual = counters[number()], number(), number()
    if isHeld then
      add(counter, 'held', -held)
      add(counter, 'used', actual)
    elseif isEnded then
      add(counter, 'used', actual - held)
    end
  end
end

local time = now()
local answer = {#redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', time, 'LIMIT', 0, 1)}
while at < #ARGV do
  local id, ends, record, charges = word(), time + number(), word(), {}
  local first = #answer + 1
  local fits = true
  answer[first] = 1
  for index = 1, number() do
    local charge = {counter = counters[number()], max = number(), amount = number()}
    local level = charge.counter.used + charge.counter.held
    if level + math.max(charge.amount, 1) > charge.max then fits = false end
    answer[#answer + 1] = charge.counter.used
    answer[#answer + 1] = level
    charges[index] = charge
  end
  if redis.call('HEXISTS', KEYS[2], id) == 0 then
    if fits then
      for index, charge in ipairs(charges) do
        charge.counter.held = charge.counter.held + charge.amount
        charge.counter.isChanged = true
        answer[first + 2 * index] = answer[first + 2 * index] + charge.amount
      end
      redis.call('HSET', KEYS[2], id, record)
      redis.call('ZADD', KEYS[3], ends, id)
    else
      answer[first] = 0
    end
  end
end

local function whole(number) return string.format('%.0f', number) end
for _, counter in ipairs(counters) do
  if counter.isChanged then
    redis.call('HSET', counter.key, 'u', whole(counter.used), 'h', whole(counter.held))
    if not counter.isKnown and counter.ends ~= '' then redis.call('PEXPIREAT', counter.key, counter.ends) end
  end
end
return answer`);

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
