import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Test } from '@nestjs/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AdmissionService } from '#jobs';
import { ApiConfig, loadConfig } from '#platform/config';
import { Readiness } from '#platform/health';
import { createLogger } from '#platform/logging';
import { Metrics } from '#platform/metrics';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { ApiModule } from './api.module.js';

describe('api', () => {
  let database: TestDatabase;
  let home: string;

  beforeEach(async () => {
    database = await createMigratedDatabase();
    home = await mkdtemp(path.join(tmpdir(), 'sluice-api-'));
  });

  afterEach(async () => {
    vi.unstubAllEnvs();
    await database.drop();
    await rm(home, { recursive: true });
  });

  it('resolves every dependency of its modules from the types of their constructors', async () => {
    vi.stubEnv('DATABASE_URL', database.url);
    vi.stubEnv('SLUICE_HOME', home);
    vi.stubEnv('SLUICE_SECRET_KEY', '5c'.repeat(32));
    const config = loadConfig(ApiConfig);
    const logger = createLogger('api', { level: 'silent' });
    const app = await Test.createTestingModule({ imports: [ApiModule.forRoot(config, logger)] })
      .overrideProvider(Metrics)
      .useValue(new Metrics('api', { processMetrics: false }))
      .compile();
    try {
      expect(app.get(AdmissionService, { strict: false })).toBeInstanceOf(AdmissionService);
      const checks = async () => (await app.get(Readiness).report()).checks;
      await expect.poll(checks).toMatchObject({ database: 'ok', queue: 'ok' });
    } finally {
      await app.close();
    }
  });
});
