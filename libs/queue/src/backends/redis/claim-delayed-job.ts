import type { Redis } from 'ioredis';
import type { JobClaim } from '../store.js';

/**
 * What BullMQ 6.7.0 does when it gives a job to a worker (`moveToActive`), for one job that is named and still delayed.
 * BullMQ has no command for it. The conformance suite fails should another version keep its jobs in another way.
 *
 * KEYS: delayed, active, the job, its lock. ARGV: job id, token, ms of the lock, now. 1: claimed, 0: no longer delayed.
 */
const script = `
if redis.call('ZREM', KEYS[1], ARGV[1]) == 0 then
  return redis.call('GET', KEYS[4]) == ARGV[2] and 1 or 0
end
redis.call('LPUSH', KEYS[2], ARGV[1])
redis.call('SET', KEYS[4], ARGV[2], 'PX', ARGV[3])
redis.call('HSET', KEYS[3], 'delay', 0, 'processedOn', ARGV[4])
redis.call('HINCRBY', KEYS[3], 'ats', 1)
return 1`;

/** `queueKey` is the prefix of the queue's keys. */
export async function claimDelayedJob(
  client: Redis,
  queueKey: string,
  { jobId, token, lockMs, nowMs }: JobClaim,
): Promise<boolean> {
  const job = `${queueKey}:${jobId}`;
  const keys = [`${queueKey}:delayed`, `${queueKey}:active`, job, `${job}:lock`];
  return (await client.eval(script, keys.length, ...keys, jobId, token, lockMs, nowMs)) === 1;
}
