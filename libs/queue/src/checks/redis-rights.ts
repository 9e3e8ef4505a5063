import type { Redis } from 'ioredis';
import { isRightMissing } from '#platform/redis';

/** Commands of queue, bus, replies and rate limits that take one key, with the arguments after it. */
const keyCommands: readonly (readonly (string | number)[])[] = [
  ...['del', 'exists', 'get', 'hgetall', 'hlen', 'incr', 'llen', 'lpop', 'persist', 'pttl', 'rpop', 'scard'].map(
    (command) => [command],
  ),
  ...['smembers', 'type', 'unlink', 'xlen', 'zcard', 'zpopmin'].map((command) => [command]),
  ...['hdel', 'hexists', 'hget', 'hmget', 'lpos', 'sadd', 'sismember', 'srem', 'set', 'zrem', 'zscore'].map(
    (command) => [command, 'field'],
  ),
  ...['lpush', 'rpush'].map((command) => [command, 'field']),
  ['hincrby', 'field', 1],
  ['hmset', 'field', 1],
  ['hset', 'field', 1],
  ['hsetnx', 'field', 1],
  ['incrby', 1],
  ['lindex', 0],
  ['lrange', 0, 1],
  ['lrem', 0, 'field'],
  ['lset', 0, 'field'],
  ['ltrim', 0, 1],
  ['expire', 1],
  ['pexpire', 1_000],
  ['pexpireat', 1],
  ['xadd', '*', 'field', 1],
  ['xdel', '0-1'],
  ['xrange', '-', '+'],
  ['xtrim', 'MAXLEN', 1],
  ['zadd', 1, 'field'],
  ['zcount', 0, 1],
  ['zrange', 0, 1],
  ['zrangebylex', '-', '+'],
  ['zrangebyscore', 0, 1],
  ['zremrangebyrank', 0, 1],
  ['zremrangebyscore', 0, 1],
  ['zrevrange', 0, 1],
  ['zrevrangebyscore', 1, 0],
];

/** Returns the commands that need no key, or more than one. */
function otherCommands(key: string): readonly (readonly (string | number)[])[] {
  return [
    ['eval', 'return 1', 0],
    // Nothing has this hash: a server that allows the command does not know the script.
    ['evalsha', '0'.repeat(40), 0],
    ['time'],
    ['ping'],
    ['rename', key, key],
    ['rpoplpush', key, key],
    ['xread', 'COUNT', 1, 'STREAMS', key, '0'],
    ['bzpopmin', key, 0.01],
  ];
}

/** The commands that are tried: a test compares them with those that a server has seen. */
export const triedCommands: readonly string[] = [...keyCommands, ...otherCommands('')].map(([name]) => String(name));

/** Probes on keys and channels of the namespace that nobody uses, with the rights that each of them needs. */
interface Probe {
  readonly line: readonly (string | number)[];
  readonly keys?: string;
  readonly channels?: string;
}

function probesOf(namespace: string): Probe[] {
  const [key, channel] = [`${namespace}:doctor`, `${namespace}:bus:doctor`];
  const [keys, channels, pools] = [`~${namespace}:*`, `&${namespace}:bus:*`, `&${namespace}:pool-bus:*`];
  return [
    ...keyCommands.map(([name = '', ...args]) => ({ line: [name, key, ...args], keys })),
    ...otherCommands(key).map((line) => ({ line, keys })),
    { line: ['unlink', key], keys },
    { line: ['info', 'server'] },
    { line: ['publish', channel, ''], channels },
    // These come last, because a connection that listens accepts no other commands.
    { line: ['subscribe', channel], channels },
    { line: ['psubscribe', `${namespace}:pool-bus:*`], channels: pools },
  ];
}

/**
 * Returns the rights that the user of a connection lacks for an installation, as an ACL writes them. They are found by
 * trying, which works on every server. The connection is of no use afterwards.
 */
export async function findMissingRights(client: Redis, namespace: string): Promise<string[]> {
  const missing = new Set<string>();
  for (const { line, keys, channels } of probesOf(namespace)) {
    const [command = '', ...args] = line;
    const error = await client.call(String(command), ...args).then(
      () => null,
      (reason: unknown) => reason,
    );
    if (isRightMissing(error)) missing.add(rightOf(error, { command: String(command), keys, channels }));
    // Any other error of the server shows that the command was allowed.
    else if (error instanceof Error && error.name !== 'ReplyError') throw error;
  }
  return [...missing];
}

function rightOf(
  { message }: Error,
  { command, keys, channels }: { command: string; keys?: string | undefined; channels?: string | undefined },
): string {
  if (keys !== undefined && /access (a key|one of the keys)/.test(message)) return keys;
  if (channels !== undefined && /access (a|one of the) channel/.test(message)) return channels;
  return `+${command}`;
}
