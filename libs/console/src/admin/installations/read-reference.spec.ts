import { describe, expect, it } from 'vitest';
import type { InstallModelRequest } from './install-model.request.js';
import { readInstallation } from './read-reference.js';

const known = { manifests: new Set(['stories-15m']), catalog: new Set(['qwen3-4b']) };
const installer = { id: 'a', host: 'a', importFolder: '/srv/import', freeBytes: 1, installed: [] };
const other = { ...installer, id: 'b', importFolder: '/mnt/other' };

const read = (request: Partial<InstallModelRequest>, installers = [installer]) =>
  readInstallation({ reference: 'stories-15m', ...request }, known, installers);

/** The field that a refusal names. */
function refusedField(request: Partial<InstallModelRequest>): string {
  try {
    read(request);
  } catch (error) {
    const { code, issues } = error as { code: string; issues?: { path: string[] }[] };
    return `${code} ${issues?.[0]?.path.join('.')}`;
  }
  return 'accepted';
}

describe('a request to install a model', () => {
  it.each([
    'stories-15m',
    ' qwen3-4b ',
    'hf:owner/name',
    './model.gguf',
    '/srv/import/own',
    'https://example.org/a.gguf',
  ])('names %s', (reference) => expect(read({ reference })).toEqual({ reference: reference.trim(), options: {} }));

  it('keeps the options that were set', () => {
    const draft = { id: 'own', tier: 'S', weights: 'int8', contextLength: 512 } as const;
    const options = { ...draft, purpose: 'embedding', pooling: 'last', pool: 'local' } as const;
    expect(read({ reference: 'hf:owner/name', ...options, inputPriceUsd: 0 })).toEqual({
      reference: 'hf:owner/name',
      options: { ...options, inputPriceUsd: 0 },
    });
  });

  it.each<[string, Partial<InstallModelRequest>]>([
    ['reference', { reference: 'no-such-model' }],
    ['reference', { reference: 'hf:a b' }],
    ['reference', { reference: 'npm:name' }],
    ['reference', { reference: '../../etc/passwd' }],
    ['reference', { reference: '/etc/passwd' }],
    ['reference', { reference: 'https://192.168.1.4/a.gguf' }],
    ['reference', { reference: 'https://[::1]/a.gguf' }],
    ['reference', { reference: 'http://localhost:8080/a.gguf' }],
    ['reference', { reference: 'https://2130706433/a.gguf' }],
    ['id', { reference: 'hf:owner/name', id: 'My Model' }],
    ['pool', { pool: 'no such pool' }],
    ['name', { name: 'Stories' }],
    ['weights', { reference: './model.yaml', weights: 'int4' }],
    ['purpose', { reference: './model.yaml', purpose: 'rerank' }],
    ['pooling', { reference: './model.yaml', pooling: 'mean' }],
    ['strange', { strange: 1 } as object],
  ])('is refused by its field %s: %j', (field, request) => {
    expect(refusedField(request)).toBe(`INVALID_REQUEST ${field}`);
  });

  it('may only name what every process that installs may read', () => {
    expect(read({ reference: '/mnt/other/a.gguf' }, [other]).reference).toBe('/mnt/other/a.gguf');
    expect(read({ reference: './a.gguf' }, [installer, other]).reference).toBe('./a.gguf');
    expect(() => read({ reference: '/mnt/other/a.gguf' }, [other, installer])).toThrow('is not below /srv/import');
  });

  it('is refused with the sentence of the command line', () => {
    expect(() => read({ reference: 'no-such-model' })).toThrow(
      'There is no file, folder or open model no-such-model. A source is a path, hf:<owner>/<repository>',
    );
  });
});
