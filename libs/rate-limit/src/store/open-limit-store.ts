import type { PrismaService } from '#platform/prisma';
import type { LimitStore } from './limit-store.js';
import { minuteWindow } from './limit-window.js';
import { PostgresLimitStore } from './postgres-limit.repository.js';
import { RedisLimitStore } from './redis-limit.store.js';

export interface LimitStoreOptions {
  /** Where the windows are stored; null: in the database. */
  redisUrl: string | null;
  prisma: PrismaService;
  /** Prefix of the keys in Redis. */
  namespace: string;
  warn: (message: string, error: unknown) => void;
}

/**
 * Opens the store that every process of an installation shares. Rejects when its Redis does not respond within 10 s.
 */
export async function openLimitStore({ redisUrl, prisma, namespace, warn }: LimitStoreOptions): Promise<LimitStore> {
  if (redisUrl === null) return new PostgresLimitStore(prisma, minuteWindow);
  return await RedisLimitStore.open({ url: redisUrl, namespace, window: minuteWindow, warn });
}
