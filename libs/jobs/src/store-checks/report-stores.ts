import type { DatabaseConfig } from '#platform/config';
import type { Logger } from '#platform/logging';
import type { RawQueries } from '#platform/prisma';
import { examineStores } from './examine-stores.js';
import type { NamedKeys } from './key-fingerprints.repository.js';

/** Selects the keys of the installation, since keys of single models belong to pools. */
export function namedKeysOf(secretKeys: readonly string[], queueKeys: readonly string[]): NamedKeys[] {
  return [
    { name: 'SLUICE_SECRET_KEY', keys: secretKeys },
    { name: 'SLUICE_QUEUE_KEY', keys: queueKeys.filter((key) => !key.includes(':')) },
  ];
}

/** Logs what is wrong with the stores of a process that has started, one line each. Never rejects. */
export async function reportStores(config: DatabaseConfig, queries: RawQueries, logger: Logger): Promise<void> {
  const { databaseUrl, queueUrl, limitsRedisUrl, namespace, storage, secretKeys, sealKeys } = config;
  const { findings } = await examineStores({
    ...{ databaseUrl, queueUrl, limitsRedisUrl, namespace, storage, queries },
    keys: namedKeysOf(secretKeys, sealKeys),
    notesKeys: true,
  });
  for (const { store, severity, text } of findings) {
    if (severity === 'problem') logger.warn({ store }, text);
    else logger.info({ store }, text);
  }
}
