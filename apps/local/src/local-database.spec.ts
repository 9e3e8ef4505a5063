import { afterEach, expect, it, vi } from 'vitest';
import { StartRefusal } from '#platform/process';
import { LocalConfig, parseConfig } from '#platform/config';
import { isolateOwnDatabase } from './local-database.js';

afterEach(() => vi.unstubAllEnvs());

function isolate(environment: Record<string, string>): void {
  vi.stubEnv('PGSSLMODE', 'require');
  isolateOwnDatabase(parseConfig(LocalConfig, { SLUICE_MODELS: 'none', ...environment }));
}

it('drops variables of libpq unless the database is a configured one', () => {
  isolate({ DATABASE_URL: 'postgresql://sluice@db.internal/sluice' });
  expect(process.env.PGSSLMODE).toBe('require');
  isolate({});
  expect(process.env.PGSSLMODE).toBeUndefined();
  isolate({ REDIS_URL: 'redis://queue.internal' });
  expect(process.env.PGSSLMODE).toBeUndefined();
});

it('refuses to guess whether they are about the server of the queue', () => {
  const start = () => isolate({ SLUICE_QUEUE_URL: 'postgresql://sluice@queue.internal/sluice' });
  expect(start).toThrow(StartRefusal);
  expect(start).toThrow(/^PGSSLMODE would .* Unset it, .* SLUICE_QUEUE_URL/);
});
