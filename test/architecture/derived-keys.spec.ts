import { describe, expect, it } from 'vitest';
import { productSources, readText } from './repository-files.js';

/** Calls whose second argument is the purpose of a key, and default purposes. */
const uses = [
  /\bderiveKey\([^,]+,\s*(?<label>'[^']+'|`[^`]+`)\)/g,
  /\bnew (?:SecretBox|PayloadCipher|AccountCipher)\([^,]+,\s*(?<label>'[^']+'|`[^`]+`)\)/g,
  /\bpurpose = (?<label>'[^']+')/g,
];

const labels = productSources.flatMap((path) =>
  uses.flatMap((use) =>
    [...readText(path).matchAll(use)].map(({ groups }) => ({ path, label: groups?.['label'] ?? '' })),
  ),
);

describe('the keys of an installation', () => {
  it('are used through keys that are derived for one purpose each', () => {
    expect(labels.length).toBeGreaterThan(15);
    const repeated = labels.filter(({ label }, index) => labels.findIndex((other) => other.label === label) < index);
    expect(repeated).toEqual([]);
  });

  it('are given to no cipher and no signature themselves', () => {
    const direct =
      /\b(?:createHmac|createCipheriv|createDecipheriv|hkdfSync|sign)\([^;]*(?:secretKeys?|installationKey|sealKeys)\b/;
    expect(productSources.filter((path) => direct.test(readText(path)))).toEqual([]);
    const deriving = productSources.filter((path) => readText(path).includes('hkdfSync('));
    // The latter derives from what two parties agree on.
    expect(deriving).toEqual(['libs/common/src/derived-key.ts', 'libs/tee/src/sealing/seal-text.ts']);
  });
});
