import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ApiModule } from '../../apps/api/src/api.module.js';
import { buildDocument } from '../../apps/api/src/documentation.js';
import { MediaTools } from '#media';
import { ApiConfig } from '#platform/config';
import { createLogger } from '#platform/logging';
import { Metrics } from '#platform/metrics';
import { QueueTransport } from '#queue';
import { differencesOf, safetyClassifier, type KnownDifference } from './openapi-differences.js';
import type { OpenapiDocument } from './openapi-facts.js';

function read(path: string): unknown {
  return parse(readFileSync(new URL(path, import.meta.url), 'utf8'));
}

const contract = read('contract/openapi-shapes.yaml') as OpenapiDocument;
const known = read('known-differences.yaml') as KnownDifference[];

let published: OpenapiDocument;

beforeAll(async () => {
  // The document depends only on routes and DTOs; no service is called.
  const config = Object.assign(new ApiConfig(), {
    databaseUrl: 'postgresql://nobody@127.0.0.1:9/none',
    homePath: tmpdir(),
    secretKey: '5c'.repeat(32),
    abuseFailures: 0,
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
  published = buildDocument(app) as unknown as OpenapiDocument;
  await app.close();
});

describe('the published document', () => {
  it('differs from the contract exactly as listed in known-differences.yaml', () => {
    expect(safetyClassifier(differencesOf(contract, published), known)).toEqual({ unlisted: [], outdated: [] });
  });

  it('gives a reason for every known difference', () => {
    expect(known.filter(({ reason }) => typeof reason !== 'string' || reason.length < 10)).toEqual([]);
  });

  it('shows an example for every operation that takes a body', () => {
    const without = Object.entries(published.paths).flatMap(([path, item]) =>
      Object.entries(item as Record<string, { requestBody?: { content: Record<string, { examples?: object }> } }>)
        .filter(
          ([, { requestBody }]) => requestBody && !Object.values(requestBody.content).every(({ examples }) => examples),
        )
        .map(([method]) => `${method} ${path}`),
    );
    expect(without).toEqual([]);
  });
});

describe('the comparison', () => {
  const operation = (schema: object): OpenapiDocument => ({
    paths: {
      '/x': { post: { operationId: 'x', requestBody: { content: { 'application/json': { schema } } }, responses: {} } },
    },
  });
  const base = { type: 'object', properties: { a: { type: 'integer', maximum: 3 } }, required: ['a'] };

  it.each([
    ['a bound', { ...base, properties: { a: { type: 'integer', maximum: 4 } } }, 2],
    ['a requirement', { ...base, required: [] }, 1],
    ['a field', { type: 'object', properties: {} }, 3],
    ['a type', { ...base, properties: { a: { type: 'number', maximum: 3 } } }, 2],
  ])('detects a changed %s', (_name, changed, count) => {
    expect(differencesOf(operation(base), operation(changed))).toHaveLength(count);
  });

  it('detects a missing operation, and one that is listed but served', () => {
    const differences = differencesOf(operation(base), { paths: {} });
    expect(differences).toEqual(['POST /x is missing']);
    const listed = [
      { difference: 'POST /x is missing', reason: 'later' },
      { difference: 'GET /y is missing', reason: 'later' },
    ];
    expect(safetyClassifier(differences, listed)).toEqual({ unlisted: [], outdated: ['GET /y is missing'] });
    expect(safetyClassifier(differences, [])).toEqual({ unlisted: ['POST /x is missing'], outdated: [] });
  });
});
