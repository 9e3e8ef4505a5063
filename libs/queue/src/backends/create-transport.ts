import { PlatformError } from '#common';
import { OutageLog } from '#platform/logging';
import { isRightMissing } from '#platform/redis';
import { BullTransport } from './bull-transport.js';
import { PostgresStore } from './postgres/postgres-store.js';
import { logWarnings } from './queue-warnings.js';
import { RedisStore } from './redis/redis-store.js';
import type { Store, StoreOptions } from './store.js';
import type { QueueTransport, TransportOptions } from '../transport.js';

/** For operators; `npm start` and the manifests set keys. */
const unsealed =
  'The queue holds prompts and responses in clear text: set SLUICE_QUEUE_KEY to the same 64 hex digits in api, ops and workers.';

/** Letters, digits and `_`: valid in a key prefix, a channel and a schema name alike. */
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

/** Says in one sentence which right is missing; other errors stay as they are. */
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
