import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { format, resolveConfig } from 'prettier';
import { parse } from 'yaml';
import { describeFields } from './accepted-fields.js';
import { differencesOf, compareWithKnown, type KnownDifference } from './openapi-differences.js';
import type { OpenapiDocument } from './openapi-facts.js';
import { publishedDocument, publishedVersion } from './published-document.js';

function read(path: string): unknown {
  return parse(readFileSync(new URL(path, import.meta.url), 'utf8'));
}

const contract = read('contract/openapi-shapes.yaml') as OpenapiDocument;
const known = read('known-differences.yaml') as KnownDifference[];

let published: OpenapiDocument;

beforeAll(async () => {
  published = (await publishedDocument()) as unknown as OpenapiDocument;
});

describe('the published document', () => {
  it('differs from the contract exactly as listed in known-differences.yaml', () => {
    expect(compareWithKnown(differencesOf(contract, published), known)).toEqual({ unlisted: [], outdated: [] });
  });

  it('has every accepted field in docs/reference/fields.md, with its effect', async () => {
    const path = fileURLToPath(new URL('../../docs/reference/fields.md', import.meta.url));
    const options = { ...(await resolveConfig(path)), filepath: path };
    await expect(await format(describeFields(published), options)).toMatchFileSnapshot(path);
  });

  it('names the revision of the service', () => {
    expect((published as unknown as { info: object }).info).toMatchObject({ version: publishedVersion });
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
    expect(compareWithKnown(differences, listed)).toEqual({ unlisted: [], outdated: ['GET /y is missing'] });
    expect(compareWithKnown(differences, [])).toEqual({ unlisted: ['POST /x is missing'], outdated: [] });
  });
});
