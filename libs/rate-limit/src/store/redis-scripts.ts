/*
 * The windows on Redis. A window is one hash: `r<slot>` and `t<slot>` count requests and tokens of a slot; `at` is the
 * slot in which the hash was last cleaned, `r` and `t` its sums, `or` and `ot` the oldest slot with requests and with
 * tokens. Within a slot a request reads these five fields; the first of a new slot cleans.
 *
 * Slots ahead of the clock stay, because a clock that was set back forgives nothing, except those so far ahead that
 * they would stay for longer than a window.
 */
const windows = `
local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)

local function slotsOf(key, slot, span)
  local flat = redis.call('HGETALL', key)
  local slots, dead = {}, {}
  for i = 1, #flat, 2 do
    local kind, number = string.match(flat[i], '^([rt])(%d+)$')
    if kind then
      number = tonumber(number)
      if math.abs(slot - number) > span then
        dead[#dead + 1] = flat[i]
      else
        slots[number] = slots[number] or { slot = number, r = 0, t = 0 }
        slots[number][kind] = tonumber(flat[i + 1])
      end
    end
  end
  local list = {}
  for _, entry in pairs(slots) do list[#list + 1] = entry end
  table.sort(list, function(a, b) return a.slot < b.slot end)
  return list, dead
end

-- What a window holds now; its hash is cleaned when the slot is a new one.
local function load(key, slot, span)
  local state = redis.call('HMGET', key, 'at', 'r', 't', 'or', 'ot')
  if tonumber(state[1]) == slot then
    return { r = tonumber(state[2]), t = tonumber(state[3]), oldestR = tonumber(state[4]), oldestT = tonumber(state[5]) }
  end
  local held = { r = 0, t = 0, oldestR = -1, oldestT = -1 }
  if not state[1] then return held end
  local list, dead = slotsOf(key, slot, span)
  for _, entry in ipairs(list) do
    held.r = held.r + entry.r
    held.t = held.t + entry.t
    if held.oldestR < 0 and entry.r > 0 then held.oldestR = entry.slot end
    if held.oldestT < 0 and entry.t > 0 then held.oldestT = entry.slot end
  end
  if #dead > 0 then redis.call('HDEL', key, unpack(dead)) end
  return held
end
`;

/**
 * KEYS: the guard's block, then the windows. ARGV: tokens, span (slots of a window), slotMs, then requests and tokens
 * of each window, -1 for no limit. Returns granted (1 or 0), blockedMs, nowMs, slot, then six numbers per window:
 * requests, tokens, lacking (0 nothing, 1 requests, 2 tokens), waitMs, and the two oldest slots, -1 for none.
 */
export const takeScript = `${windows}
local blockedMs = redis.call('PTTL', KEYS[1])
if blockedMs > 0 then return { 0, blockedMs, nowMs, 0 } end
local cost, span, slotMs = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local slot = math.floor(nowMs / slotMs)

local function waitFor(key, kind, excess)
  local gone = 0
  for _, entry in ipairs((slotsOf(key, slot, span))) do
    gone = gone + entry[kind]
    if gone >= excess and entry[kind] > 0 then
      return math.max(1, (entry.slot + span + 1) * slotMs - nowMs)
    end
  end
  return (slot + span + 1) * slotMs - nowMs
end

local granted, held, answer = 1, {}, { 1, 0, nowMs, slot }
for i = 2, #KEYS do
  local most, mostTokens = tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1])
  local window = load(KEYS[i], slot, span)
  local wait, waitTokens = 0, 0
  if most >= 0 and window.r + 1 > most then wait = waitFor(KEYS[i], 'r', window.r + 1 - most) end
  if mostTokens >= 0 and window.t + cost > mostTokens then
    waitTokens = waitFor(KEYS[i], 't', window.t + cost - mostTokens)
  end
  local lacking = 0
  if wait + waitTokens > 0 then
    granted = 0
    lacking = wait >= waitTokens and 1 or 2
  end
  held[i] = window
  for _, value in ipairs({ window.r, window.t, lacking, math.max(wait, waitTokens), window.oldestR, window.oldestT }) do
    answer[#answer + 1] = value
  end
end
answer[1] = granted
if granted == 1 then
  for i = 2, #KEYS do
    local window = held[i]
    if window.oldestR < 0 then window.oldestR = slot end
    if window.oldestT < 0 and cost > 0 then window.oldestT = slot end
    redis.call('HINCRBY', KEYS[i], 'r' .. slot, 1)
    if cost > 0 then redis.call('HINCRBY', KEYS[i], 't' .. slot, cost) end
    redis.call('HSET', KEYS[i], 'at', slot, 'r', window.r + 1, 't', window.t + cost, 'or', window.oldestR, 'ot', window.oldestT)
    redis.call('PEXPIRE', KEYS[i], (span + 2) * slotMs)
  end
end
return answer
`;

/** KEYS: windows. ARGV: slot, change. */
export const correctScript = `
for _, key in ipairs(KEYS) do
  local reserved = tonumber(redis.call('HGET', key, 't' .. ARGV[1]))
  if reserved then
    local change = math.max(-reserved, tonumber(ARGV[2]))
    redis.call('HINCRBY', key, 't' .. ARGV[1], change)
    redis.call('HINCRBY', key, 't', change)
  end
end
`;

/**
 * KEYS: the guard's window and its block. ARGV: maximum, span, slotMs, blockMs. Returns blockedMs, began (1 or 0) and
 * nowMs. Failures during a block are not counted.
 */
export const failScript = `${windows}
local blockedMs = redis.call('PTTL', KEYS[2])
if blockedMs > 0 then return { blockedMs, 0, nowMs } end
local most, span, slotMs, blockMs = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local slot = math.floor(nowMs / slotMs)
local window = load(KEYS[1], slot, span)
if window.r + 1 > most then
  redis.call('DEL', KEYS[1])
  redis.call('SET', KEYS[2], 1, 'PX', blockMs)
  return { blockMs, 1, nowMs }
end
redis.call('HINCRBY', KEYS[1], 'r' .. slot, 1)
redis.call('HSET', KEYS[1], 'at', slot, 'r', window.r + 1, 't', 0, 'or', window.oldestR, 'ot', -1)
redis.call('PEXPIRE', KEYS[1], (span + 2) * slotMs)
return { 0, 0, nowMs }
`;
