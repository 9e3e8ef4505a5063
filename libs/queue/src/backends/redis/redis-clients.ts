import { Redis, type RedisOptions } from 'ioredis';
import { PlatformError } from '#common';
import { coalesceWrites, isInfoDenied, tolerateDeniedInfo } from '#platform/redis';
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
  client.duplicate = (override) => tolerateDeniedInfo(duplicate({ ...override, socketTimeout: silentMs.blocks }));
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
  const settings = { ...options, retryStrategy, lazyConnect: true, connectTimeout: 5_000 };
  const client = tolerateDeniedInfo(new Redis(url, settings));
  client.on('connect', () => coalesceWrites(client.stream));
  return client;
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
  /** Null: the user may not run `INFO`, and the other fields are those of a server without a limit. */
  version: string | null;
  evictionPolicy: string;
  usedMemoryBytes: number;
  /** 0 without a limit. */
  maxMemoryBytes: number;
}

/** For operators whose Redis user may not run `INFO`. */
export const infoDenied =
  'The version, memory and eviction policy of Redis are not checked: its user needs +info (docs/operate/operations.md).';

export async function readServerFacts(client: Redis): Promise<RedisServerFacts> {
  // Sections one by one: servers before 7 accept only one.
  const [server, memory] = [await client.info('server'), await client.info('memory')];
  if (isInfoDenied(server)) {
    return { version: null, evictionPolicy: 'noeviction', usedMemoryBytes: 0, maxMemoryBytes: 0 };
  }
  const text = `${server}\r\n${memory}`;
  const field = (name: string) => new RegExp(`^${name}:(.*)$`, 'm').exec(text)?.[1]?.trim() ?? '';
  return {
    version: field('redis_version'),
    evictionPolicy: field('maxmemory_policy'),
    usedMemoryBytes: Number(field('used_memory')),
    maxMemoryBytes: Number(field('maxmemory')),
  };
}

/** Returns why a server of this version cannot hold the queue; null when it can. */
export function versionProblem(version: string): string | null {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [wantedMajor, wantedMinor] = minimumVersion;
  if (major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)) return null;
  return (
    `Redis ${version} is too old for the queue: start one of version 6.2 or newer, or leave REDIS_URL and ` +
    'SLUICE_QUEUE_URL unset to keep the queue in PostgreSQL.'
  );
}

/** Rejects servers that are too old, and warns of one that may evict jobs, and of one that tells nothing. */
export function checkServer(facts: RedisServerFacts, warn: (message: string) => void): void {
  if (facts.version === null) return warn(infoDenied);
  const problem = versionProblem(facts.version);
  if (problem !== null) throw new PlatformError('SERVICE_UNAVAILABLE', problem);
  const policy = evictionProblem({ ...facts, maxMemoryBytes: 1 });
  if (policy !== null) warn(policy);
}

/**
 * Returns why this server may lose jobs by itself, and what to do; null when it does not. Without a limit nothing is
 * evicted.
 */
export function evictionProblem({
  evictionPolicy,
  maxMemoryBytes,
}: Pick<RedisServerFacts, 'evictionPolicy' | 'maxMemoryBytes'>): string | null {
  if (evictionPolicy === 'noeviction' || maxMemoryBytes === 0) return null;
  return (
    `Redis may evict jobs: its maxmemory-policy is ${evictionPolicy}. Set it to noeviction ` +
    '(CONFIG SET maxmemory-policy noeviction, and in its configuration).'
  );
}
