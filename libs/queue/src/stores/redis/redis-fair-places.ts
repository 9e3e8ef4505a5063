import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { maxSpread, placesOf, rebaseAt, stepOf } from '../../fairness/fair-order.js';
import type { FairPlace, FairTurn } from '../../contract/fair-turn.js';

/** How long the state outlives its last use, in seconds. Without it, the virtual time is read from the queue again. */
const keptSeconds = 86_400;

/**
 * The common part of both scripts. KEYS: prioritized, fair. BullMQ's score is the tag times 2^32, plus a counter. The
 * hash holds the virtual time, the highest tag, the last shift, and the ends of accounts.
 */
const readState = `
local prioritized, fair = KEYS[1], KEYS[2]
local unit = 4294967296
local function tagOf(score) return math.floor(tonumber(score) / unit) end
local state = redis.call('HMGET', fair, '@now', '@top', '@shift')
local now, top, shift = tonumber(state[1]) or 1, tonumber(state[2]), tonumber(state[3]) or 0
local first = redis.call('ZRANGE', prioritized, 0, 0, 'WITHSCORES')
local function endOf(kind, account) return tonumber(redis.call('HGET', fair, kind .. account)) or 0 end
`;

/**
 * Does the steps of `FairOrder` for several turns. Returns the tag of each, and 1 (goes first) or 0. KEYS: prioritized,
 * fair, delayed, active. ARGV: the prefix of the keys of jobs, maxSpread, rebaseAt, the lifetime, then account, step
 * and 1 (recovered) or 0 of each turn.
 */
const assignScript = `${readState}
local function move(id, score, tag)
  redis.call('ZADD', prioritized, string.format('%.0f', tag * unit + tonumber(score) % unit), id)
  redis.call('HSET', ARGV[1] .. id, 'priority', tag)
end
local last = redis.call('ZRANGE', prioritized, -1, -1, 'WITHSCORES')
if top == nil then top = last[2] and math.max(now, tagOf(last[2])) or now end
-- A job that was on its way during a rebase has a tag of the time before.
for _ = 1, 100 do
  if shift == 0 or not last[2] or tagOf(last[2]) <= top then break end
  move(last[1], last[2], math.max(now, tagOf(last[2]) - shift))
  last = redis.call('ZRANGE', prioritized, -1, -1, 'WITHSCORES')
  first = redis.call('ZRANGE', prioritized, 0, 0, 'WITHSCORES')
end
if first[2] then
  now = math.max(now, tagOf(first[2]))
else
  now = top
  redis.call('DEL', fair)
end
if now >= tonumber(ARGV[3]) then
  shift = now - 1
  local waiting = redis.call('ZRANGE', prioritized, 0, -1, 'WITHSCORES')
  for i = 1, #waiting, 2 do move(waiting[i], waiting[i + 1], math.max(1, tagOf(waiting[i + 1]) - shift)) end
  for _, key in ipairs({ KEYS[3], KEYS[4] }) do
    local ids = key == KEYS[3] and redis.call('ZRANGE', key, 0, -1) or redis.call('LRANGE', key, 0, -1)
    for _, id in ipairs(ids) do
      local tag = tonumber(redis.call('HGET', ARGV[1] .. id, 'priority')) or 0
      if tag > 0 then redis.call('HSET', ARGV[1] .. id, 'priority', math.max(1, tag - shift)) end
    end
  end
  local fields = redis.call('HGETALL', fair)
  for i = 1, #fields, 2 do
    if string.sub(fields[i], 1, 1) ~= '@' then
      if tonumber(fields[i + 1]) > now then redis.call('HINCRBY', fair, fields[i], -shift)
      else redis.call('HDEL', fair, fields[i]) end
    end
  end
  top = math.max(1, top - shift)
  now = 1
end
local places = {}
for i = 5, #ARGV, 3 do
  local account, step, recovered = ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 2] == '1'
  local tag = math.min(math.max(now, endOf(recovered and 'r:' or 'e:', account)), now + tonumber(ARGV[2]))
  local finish = tag + step
  if recovered then
    redis.call('HSET', fair, 'r:' .. account, finish)
    top = math.max(top, finish)
    finish = math.max(now, endOf('e:', account)) + step
  end
  redis.call('HSET', fair, 'e:' .. account, finish)
  top = math.max(top, finish)
  places[#places + 1] = tag
  places[#places + 1] = (first[2] and not recovered and tag == now) and 1 or 0
end
redis.call('HSET', fair, '@now', now, '@top', top, '@shift', shift)
redis.call('EXPIRE', fair, ARGV[4])
return places`;

/** Counts the jobs before the next one of an account. KEYS: prioritized, fair, wait. ARGV: the account. Writes nothing. */
const aheadScript = `${readState}
local waiting = redis.call('LLEN', KEYS[3])
if not first[2] then return waiting end
local tag = math.max(now, tagOf(first[2]), endOf('e:', ARGV[1]))
return waiting + redis.call('ZCOUNT', prioritized, '-inf', string.format('(%.0f', (tag + 1) * unit))`;

interface Script {
  readonly text: string;
  readonly sha1: string;
}

const scriptOf = (text: string): Script => ({ text, sha1: createHash('sha1').update(text).digest('hex') });
const [assign, ahead] = [scriptOf(assignScript), scriptOf(aheadScript)] as const;

/** `root` is `<prefix>:<queue>`, as in BullMQ's keys. Resolves to the places of the turns, in order. */
export async function assignRedisPlaces(client: Redis, root: string, turns: readonly FairTurn[]): Promise<FairPlace[]> {
  const keys = ['prioritized', 'fair', 'delayed', 'active'].map((name) => `${root}:${name}`);
  const values = turns.flatMap((turn) => [turn.account, stepOf(turn), turn.isRecovered === true ? 1 : 0]);
  const tagsAndFlags = await run(client, assign, keys, [`${root}:`, maxSpread, rebaseAt, keptSeconds, ...values]);
  return placesOf(tagsAndFlags as number[]);
}

export async function countRedisAhead(client: Redis, root: string, account: string): Promise<number> {
  const keys = ['prioritized', 'fair', 'wait'].map((name) => `${root}:${name}`);
  return (await run(client, ahead, keys, [account])) as number;
}

async function run(
  client: Redis,
  { text, sha1 }: Script,
  keys: readonly string[],
  values: readonly (string | number)[],
): Promise<unknown> {
  try {
    return await client.evalsha(sha1, keys.length, ...keys, ...values);
  } catch (error) {
    // A restarted server has forgotten the script, and loads it again with this call.
    if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
    return await client.eval(text, keys.length, ...keys, ...values);
  }
}
