/*
 * Open requests in Redis: a sorted set per key, of leases by the time at which they expire. All times are those of the
 * server.
 */

const now = `
local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
`;

/**
 * Opens a request for all keys or for none. KEYS: one per limit. ARGV: lease, lifetime in ms, then the limits. Returns 1 or 0
 * and how many others are open for each.
 */
export const openScript = `${now}
local result = { 1 }
for i, key in ipairs(KEYS) do
  redis.call('ZREMRANGEBYSCORE', key, '-inf', nowMs)
  local others = redis.call('ZCARD', key) - (redis.call('ZSCORE', key, ARGV[1]) and 1 or 0)
  if others >= tonumber(ARGV[2 + i]) then result[1] = 0 end
  result[1 + i] = others
end
if result[1] == 1 then
  for _, key in ipairs(KEYS) do
    redis.call('ZADD', key, nowMs + ARGV[2], ARGV[1])
    redis.call('PEXPIRE', key, ARGV[2] * 2)
  end
end
return result
`;

/** Renews leases that have not expired or ended. KEYS: one per lease. ARGV: lifetime in ms, then the leases. */
export const renewScript = `${now}
for i, key in ipairs(KEYS) do
  redis.call('ZADD', key, 'XX', nowMs + ARGV[1], ARGV[1 + i])
  redis.call('PEXPIRE', key, ARGV[1] * 2)
end
return {}
`;
