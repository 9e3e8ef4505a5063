import { describe, expect, it } from 'vitest';
import { fingerprintManifest } from './manifest-fingerprint.js';
import type { ModelManifest } from './manifest.js';

const manifest = {
  id: 'some-model',
  name: 'Some model',
  sources: [{ uri: 'npm:some-package@1.0.0', files: [{ path: 'a.bin', sha256: '00' }, { path: 'b.bin' }] }],
  converter: { kind: 'gguf', options: { weights: 'int8', blockSize: 32 } },
} as unknown as ModelManifest;

describe('fingerprintManifest', () => {
  it('does not depend on the order of fields', () => {
    const reordered = {
      converter: { options: { blockSize: 32, weights: 'int8' }, kind: 'gguf' },
      sources: [{ files: [{ sha256: '00', path: 'a.bin' }, { path: 'b.bin' }], uri: 'npm:some-package@1.0.0' }],
      id: 'some-model',
    } as unknown as ModelManifest;
    expect(fingerprintManifest(reordered)).toBe(fingerprintManifest(manifest));
  });

  it('depends on the base of an adapter', () => {
    const [one, other] = ['one', 'other'].map((adapterOf) => fingerprintManifest({ ...manifest, adapterOf }));
    expect(new Set([one, other, fingerprintManifest(manifest)]).size).toBe(3);
    expect(fingerprintManifest({ ...manifest, adapterOf: undefined })).toBe(fingerprintManifest(manifest));
  });

  it('depends on the order of sources and on every option, and on no name', () => {
    const [source] = manifest.sources;
    const swapped = { ...manifest, sources: [{ ...source!, files: [...source!.files].reverse() }] };
    const other = { ...manifest, converter: { kind: 'gguf' as const, options: { weights: 'int4', blockSize: 32 } } };
    expect(fingerprintManifest(swapped)).not.toBe(fingerprintManifest(manifest));
    expect(fingerprintManifest(other)).not.toBe(fingerprintManifest(manifest));
    expect(fingerprintManifest({ ...manifest, name: 'Another name' })).toBe(fingerprintManifest(manifest));
  });
});
