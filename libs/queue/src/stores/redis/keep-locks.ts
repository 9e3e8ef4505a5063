import type { Redis } from 'ioredis';
import type { HeldLocks } from '../../contract/store.js';

/**
 * Renews locks without writing anything that a Redis at its maxmemory would refuse: BullMQ sets each lock again, this
 * only extends its expiry. KEYS: the set of jobs that may have stalled, then one lock for each id. ARGV: ms, ids,
 * tokens.
 */
const script = `
  local lost = {}
  local count = #KEYS - 1
  for i = 1, count do
    local id = ARGV[1 + i]
    if redis.call('GET', KEYS[1 + i]) == ARGV[1 + count + i] then
      redis.call('PEXPIRE', KEYS[1 + i], ARGV[1])
      redis.call('SREM', KEYS[1], id)
    else
      lost[#lost + 1] = id
    end
  end
  return lost`;

/**
 * Renews locks. Resolves to the ids of jobs whose lock belongs to another worker or is gone. `root` is
 * `<prefix>:<queue>`, as in BullMQ's keys.
 */
export async function keepLocks(client: Redis, root: string, { jobIds, tokens, lockMs }: HeldLocks): Promise<string[]> {
  const keys = [`${root}:stalled`, ...jobIds.map((id) => `${root}:${id}:lock`)];
  return (await client.eval(script, keys.length, ...keys, lockMs, ...jobIds, ...tokens)) as string[];
}

/** Recognizes the error of a Redis that has reached its maxmemory and evicts nothing. */
export function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && /\bOOM command not allowed/.test(error.message);
}
