import { Redis, type RedisOptions } from 'ioredis';
import { PlatformError } from '#common';
import { coalesceWrites } from '#platform/redis';
import { storeCallTimeoutMs } from '../store-call.js';

/** The oldest server that has `XADD NOMKSTREAM` and `XTRIM MINID`. */
const minimumVersion = [6, 2] as const;

// A Redis that comes back is found within half a second; a long back-off would delay what waits.
const retryStrategy = (attempt: number) => Math.min(attempt * 50, 500);

/**
 * A connection without any byte in response for this long is dead although nothing closed it: a router forgot it, or
 * the server's host is gone. It is torn down and opened again. In ms.
 */
const silentMs = { answers: 4_000, blocks: 15_000, reads: 9_000 };

/** Interval between pings of a connection that otherwise only listens, in ms. */
const pingEveryMs = 3_000;

/**
 * For requests: an operation fails immediately while the server is unavailable, instead of waiting in an invisible
 * queue.
 */
export function failFastClient(url: string, connectionName: string): Redis {
  return open(url, {
    connectionName,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    commandTimeout: storeCallTimeoutMs,
    socketTimeout: silentMs.answers,
  });
}

/** For workers: an operation waits until the server is back. BullMQ duplicates it for blocking commands. */
export function waitingClient(url: string, connectionName: string): Redis {
  const client = open(url, { connectionName, maxRetriesPerRequest: null, socketTimeout: silentMs.answers });
  const duplicate = client.duplicate.bind(client);
  client.duplicate = (override) => {
    const blocking = duplicate({ ...override, socketTimeout: silentMs.blocks });
    quietReadyCheck(blocking);
    return blocking;
  };
  return client;
}

/**
 * For a listening connection: it is pinged, since it would never notice a loss by itself. Whoever listens subscribes again
 * after a reconnect.
 */
export function listeningClient(url: string, connectionName: string): Redis {
  const client = open(url, {
    connectionName,
    maxRetriesPerRequest: null,
    autoResubscribe: false,
    socketTimeout: silentMs.answers,
  });
  const timer = setInterval(() => {
    if (client.status === 'ready') client.ping().catch(() => undefined);
  }, pingEveryMs);
  timer.unref();
  client.once('end', () => clearInterval(timer));
  return client;
}

/** For a loop that reads and retries by itself: a read fails as soon as the connection does. */
export function readerClient(url: string, connectionName: string): Redis {
  return open(url, { connectionName, maxRetriesPerRequest: 0, socketTimeout: silentMs.reads });
}

function open(url: string, options: RedisOptions): Redis {
  const client = new Redis(url, { ...options, retryStrategy, lazyConnect: true, connectTimeout: 5_000 });
  client.on('connect', () => coalesceWrites(client.stream));
  quietReadyCheck(client);
  return client;
}

/** ioredis writes a line of its own to the log, past the logger, if its user may not run INFO. Readiness says it. */
function quietReadyCheck(client: Redis): void {
  const info = client.info.bind(client) as (...parameters: unknown[]) => Promise<string>;
  const quiet = (...parameters: unknown[]): Promise<string> => {
    const callback = parameters.at(-1);
    if (typeof callback !== 'function') return info(...parameters);
    const answered = (error: Error | null, text?: string): unknown =>
      error?.message.includes('NOPERM') === true ? callback(null, '') : callback(error, text);
    return info(...parameters.slice(0, -1), answered);
  };
  client.info = quiet as typeof client.info;
}

/** Opens the first connection: rejects when the server does not respond within `timeoutMs`. */
export async function connectClient(client: Redis, timeoutMs: number): Promise<void> {
  let lastError: Error | null = null;
  const onError = (error: Error) => {
    lastError = error;
  };
  client.on('error', onError);
  let timer: NodeJS.Timeout | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      timer = setTimeout(() => reject(noAnswer(lastError)), timeoutMs);
      client.once('ready', resolve);
      // A refused first attempt is not final: the client keeps trying until the time is over.
      client.connect().catch(onError);
    });
  } finally {
    clearTimeout(timer);
    client.off('error', onError);
  }
}

function noAnswer(cause: Error | null): PlatformError {
  return new PlatformError('SERVICE_UNAVAILABLE', 'Redis did not answer.', null, { cause });
}

/** The relevant fields of `INFO`. */
export interface RedisServerFacts {
  version: string;
  evictionPolicy: string;
  usedMemoryBytes: number;
  /** 0 without a limit. */
  maxMemoryBytes: number;
}

export async function readServerFacts(client: Redis): Promise<RedisServerFacts> {
  // Sections one by one: servers before 7 accept only one.
  const text = `${await client.info('server')}\r\n${await client.info('memory')}`;
  const field = (name: string) => new RegExp(`^${name}:(.*)$`, 'm').exec(text)?.[1]?.trim() ?? '';
  return {
    version: field('redis_version'),
    evictionPolicy: field('maxmemory_policy'),
    usedMemoryBytes: Number(field('used_memory')),
    maxMemoryBytes: Number(field('maxmemory')),
  };
}

/** Rejects servers that are too old, and warns of one that may evict jobs. */
export function checkServer(facts: RedisServerFacts, warn: (message: string) => void): void {
  const [major = 0, minor = 0] = facts.version.split('.').map(Number);
  const [wantedMajor, wantedMinor] = minimumVersion;
  if (major < wantedMajor || (major === wantedMajor && minor < wantedMinor)) {
    throw new PlatformError(
      'SERVICE_UNAVAILABLE',
      `Redis ${facts.version} is too old for the queue: start one of version 6.2 or newer, or leave REDIS_URL and ` +
        'SLUICE_QUEUE_URL unset to keep the queue in PostgreSQL.',
    );
  }
  const policy = evictionProblem({ ...facts, maxMemoryBytes: 1 });
  if (policy !== null) warn(policy);
}

/**
 * Returns why this server may lose jobs by itself, and what to do; null when it does not. Without a limit nothing is
 * evicted.
 */
export function evictionProblem({ evictionPolicy, maxMemoryBytes }: RedisServerFacts): string | null {
  if (evictionPolicy === 'noeviction' || maxMemoryBytes === 0) return null;
  return (
    `Redis may evict jobs: its maxmemory-policy is ${evictionPolicy}. Set it to noeviction ` +
    '(CONFIG SET maxmemory-policy noeviction, and in its configuration).'
  );
}
