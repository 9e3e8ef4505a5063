import { tmpdir } from 'node:os';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { OpenAPIObject } from '@nestjs/swagger';
import { Test } from '@nestjs/testing';
import { MediaTools } from '#media';
import { ApiConfig } from '#platform/config';
import { createLogger } from '#platform/logging';
import { Metrics } from '#platform/metrics';
import { QueueTransport } from '#queue';
import { ApiModule } from '../../apps/api/src/api.module.js';
import { buildDocument } from '../../apps/api/src/documentation.js';

/** The revision that the built document names. */
export const publishedVersion = '20261123.120000';

/** Builds the OpenAPI document as the api serves it. It depends only on routes and DTOs; no service is called. */
export async function publishedDocument(): Promise<OpenAPIObject> {
  const config = Object.assign(new ApiConfig(), {
    compatibleNames: [],
    databaseUrl: 'postgresql://nobody@127.0.0.1:9/none',
    homePath: tmpdir(),
    secretKey: '5c'.repeat(32),
    previousSecretKeys: [],
    abuseFailures: 0,
    searchProviders: [],
    searchPrices: [],
    walletOrigins: [],
  });
  const transport = { membership: { onChange: () => () => undefined }, close: () => Promise.resolve() };
  const module = await Test.createTestingModule({
    imports: [ApiModule.forRoot(config, createLogger('api', { level: 'silent' }))],
  })
    .overrideProvider(QueueTransport)
    .useValue(transport)
    .overrideProvider(MediaTools)
    .useValue({})
    .overrideProvider(Metrics)
    .useValue(new Metrics('api', { processMetrics: false }))
    .compile();
  const app = module.createNestApplication(new FastifyAdapter(), { logger: false });
  const document = buildDocument(app, publishedVersion);
  await app.close();
  return document;
}
