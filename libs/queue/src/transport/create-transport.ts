import { PlatformError } from '#common';
import { createLogger, OutageLog } from '#platform/logging';
import { isRightMissing } from '#platform/redis';
import { BullTransport } from './bull-transport.js';
import { PostgresStore } from '../stores/postgres/postgres-store.js';
import { RedisStore } from '../stores/redis/redis-store.js';
import type { Store, StoreOptions } from '../contract/store.js';
import type { QueueTransport, TransportOptions } from '../contract/transport.js';

/** Interval within which a repeated warning is not logged, in ms: every connection reports an unavailable store. */
const quietMs = 10_000;

/** Returns a function that logs warnings of the transport, and the same one at most every 10 s. */
function logWarnings(clientName: string): (message: string, error?: unknown) => void {
  const logger = createLogger(`queue-${clientName}`);
  const lastAtMs = new Map<string, number>();
  return (message, error) => {
    const now = performance.now();
    if (now - (lastAtMs.get(message) ?? -Infinity) < quietMs) return;
    lastAtMs.set(message, now);
    logger.warn({ error }, message);
  };
}

/** A warning for operators; `npm start` and the manifests set keys. */
const unsealed =
  'The queue holds prompts and responses in clear text: set SLUICE_QUEUE_KEY to the same 64 hex digits in api, ops and workers.';

/** Letters, digits and `_`, which are valid in a key prefix, a channel and a schema name. */
const namespacePattern = /^[a-z][a-z0-9_]{0,29}$/;

/**
 * Connects to the store that the URL names. Rejects when it does not respond within 10 s or is too old. Close it at the
 * end: it then announces that the process leaves, sends pending messages and stops its consumers.
 */
export async function createTransport(options: TransportOptions): Promise<QueueTransport> {
  if (!namespacePattern.test(options.namespace)) {
    throw new PlatformError(
      'INVALID_REQUEST',
      'The queue namespace must match [a-z][a-z0-9_]*, 30 characters at most.',
    );
  }
  const warn = options.warn ?? logWarnings(options.clientName);
  let store: Store | null = null;
  const outage = new OutageLog({
    store: 'The store of the queue',
    warn,
    probe: async () => (store === null ? Promise.reject(new Error('It was never available.')) : store.ping()),
  });
  const complete = {
    ...options,
    warn: (message: string, error?: unknown) => (outage.note(error) ? undefined : warn(message, error)),
    outage,
  };
  if ((options.sealKeys ?? []).length === 0) complete.warn(unsealed);
  try {
    store = await openStore(complete);
  } catch (error) {
    outage.close();
    return nameMissingRight(error);
  }
  const transport = new BullTransport(store, complete);
  try {
    await transport.start();
    return transport;
  } catch (error) {
    await transport.close();
    return nameMissingRight(error);
  }
}

/** Throws an error that names the missing right in one sentence; rethrows other errors. */
function nameMissingRight(error: unknown): never {
  if (!isRightMissing(error)) throw error;
  const right = error.message.replace(/^NOPERM /, '');
  throw new PlatformError(
    'SERVICE_UNAVAILABLE',
    `The Redis user of this process lacks a right (${right}): docs/operate/operations.md has the line that it needs.`,
    null,
    { cause: error },
  );
}

function openStore(options: StoreOptions): Promise<Store> {
  switch (/^[a-z]+:/.exec(options.url)?.[0]) {
    case 'redis:':
    case 'rediss:':
      return RedisStore.open(options);
    case 'postgres:':
    case 'postgresql:':
      return PostgresStore.open(options);
    default:
      throw new PlatformError('INVALID_REQUEST', 'The queue URL must begin with redis://, rediss:// or postgres://.');
  }
}
