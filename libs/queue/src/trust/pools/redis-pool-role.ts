import { Redis } from 'ioredis';
import { PlatformError } from '#common';
import { isInfoDenied, isRightMissing, tolerateDeniedInfo } from '#platform/redis';
import { poolChannels, type PoolRole, poolUserPrefix, queuesOf, withUser } from './pool-role.js';
import { jobResultQueueName } from '../../contract/job-definition.js';

/** Servers before 7 cannot allow commands for some keys only. */
const minimumMajorVersion = 7;

/**
 * The commands that add a job to the queue of results and read none: BullMQ's scripts run with the rights of their
 * caller.
 */
const reportingCommands = [
  ...['eval', 'evalsha', 'exists', 'incr', 'hset', 'hmset', 'hget', 'hmget', 'hexists', 'hsetnx', 'sadd', 'sismember'],
  ...['lpush', 'rpush', 'llen', 'xadd', 'xtrim', 'zadd', 'zcard', 'zcount', 'zscore', 'set', 'get', 'type'],
];

export function poolUserName({ namespace, pool }: Pick<PoolRole, 'namespace' | 'pool'>): string {
  return `${poolUserPrefix(namespace)}${pool}`;
}

/** Returns the URL of a pool's workers. */
export function poolUserUrl(server: string, role: PoolRole): string {
  return withUser(server, { user: poolUserName(role), password: role.password });
}

/** Returns the rules of `ACL SETUSER` for the workers of a pool, in the form of an ACL file. */
export function poolUserRules(role: PoolRole): string[] {
  const { namespace, password } = role;
  const ownChannels = `&${poolChannels(namespace)}${role.pool}:*`;
  const queues = queuesOf(role, escaped);
  const reporting = reportingCommands.map((command) => `+${command}`).join(' ');
  return [
    ...['reset', 'on', `>${password}`, 'resetchannels', ownChannels],
    ...queues.map((queue) => `~${namespace}:${queue}:*`),
    // The user gets no commands that show keys or change the server; `info` says how much memory is left.
    ...['+@all', '-@admin', '-@dangerous', '-scan', '-randomkey', '-pubsub', '-function', '-fcall', '-fcall_ro'],
    ...['-script', '+script|load', '+info'],
    // Results are added and never read; replies are sent and never read.
    `(${reporting} ~${namespace}:${jobResultQueueName}:*)`,
    `(+xadd %W~${namespace}:reply:*)`,
    // Workers hear what api and ops send. The own channels are repeated, because one selector must allow everything
    // that one command names.
    `(+subscribe +unsubscribe &${namespace}:bus:* ${ownChannels})`,
  ];
}

/**
 * Creates or replaces the Redis user of a pool. Resolves to the URL for its workers, and whether the server keeps the user
 * when it restarts. Rejects with `SERVICE_UNAVAILABLE` for servers before 7.
 */
export async function ensureRedisPoolRole(url: string, role: PoolRole): Promise<{ url: string; isKept: boolean }> {
  const options = { lazyConnect: true, maxRetriesPerRequest: 0, retryStrategy: () => null };
  const client = tolerateDeniedInfo(new Redis(url, options));
  client.on('error', () => undefined);
  try {
    await client.connect();
    const info = await client.info('server');
    const [, major = '0'] = /redis_version:(\d+)/.exec(info) ?? [];
    // A server that does not tell its version refuses the rules itself if it is too old.
    if (Number(major) < minimumMajorVersion && !isInfoDenied(info)) {
      throw new PlatformError('SERVICE_UNAVAILABLE', `Redis ${major} has no users with limited keys: start version 7.`);
    }
    await client.call('ACL', 'SETUSER', poolUserName(role), ...poolUserRules(role)).catch(refuse);
    const isKept = await client.call('ACL', 'SAVE').then(
      () => true,
      () => false,
    );
    return { url: poolUserUrl(url, role), isKept };
  } finally {
    client.disconnect();
  }
}

function refuse(error: unknown): never {
  if (!isRightMissing(error)) throw error;
  const message = 'The Redis user of SLUICE_QUEUE_URL or REDIS_URL may not create users: name one with +acl|setuser.';
  throw new PlatformError('UNAUTHORIZED', message, null, { cause: error });
}

/** Escapes the characters that have a meaning in key patterns. */
function escaped(modelId: string): string {
  return modelId.replaceAll(/[*?[\]\\^-]/g, '\\$&');
}
