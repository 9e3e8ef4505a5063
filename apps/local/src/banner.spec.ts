import { describe, expect, it } from 'vitest';
import { exampleManifest } from '#test/example-manifest';
import { printBanner } from './banner.js';

const baseUrl = 'http://127.0.0.1:3000/api/v1';
const keys = { accountId: 'a', adminKey: 'slk_admin', inferenceKey: 'slk_inference' };

describe('printBanner', () => {
  it('shows the keys at the first start, with examples to paste', () => {
    const text = printBanner({ baseUrl, keys, keysFile: null, consoleLink: null, wanted: [], coming: [] });
    expect(text).toContain('slk_admin');
    expect(text).toContain('curl -N http://127.0.0.1:3000/api/v1/chat/completions');
    expect(text).toContain('-H "Authorization: Bearer slk_inference"');
    expect(text).toContain("apiKey: 'slk_inference'");
    expect(text).toContain('http://127.0.0.1:3000/docs');
  });

  it('names a file instead of the keys where its output may be kept', () => {
    const text = printBanner({
      baseUrl,
      keys,
      keysFile: '/srv/sluice/first-keys.txt',
      consoleLink: null,
      wanted: [],
      coming: [],
    });
    expect(text).toContain('/srv/sluice/first-keys.txt');
    expect(text).not.toContain('slk_');
    expect(text).toContain('Bearer $SLUICE_API_KEY');
  });

  it('shows no key later', () => {
    const text = printBanner({ baseUrl, keys: null, keysFile: null, consoleLink: null, wanted: [], coming: [] });
    expect(text).not.toContain('slk_');
    expect(text).toContain('Bearer $SLUICE_API_KEY');
  });

  it('shows a link that signs in to the console, and how to get another one', () => {
    const link = 'console/#/sign-in/abc';
    const text = printBanner({ baseUrl, keys: null, keysFile: null, consoleLink: link, wanted: [], coming: [] });
    expect(text).toContain('http://127.0.0.1:3000/console/#/sign-in/abc');
    expect(text).toContain('ssh -L 3000:127.0.0.1:3000');
    const without = printBanner({ baseUrl, keys: null, keysFile: null, consoleLink: null, wanted: [], coming: [] });
    expect(without).toContain('http://127.0.0.1:3000/console/\n');
    expect(without).not.toContain('sign-in');
    expect(without).toContain('npx sluice console link');
  });

  it('names the models that are still coming, in order, and the command for the rest', () => {
    const model = (id: string, installedBytes?: number) => exampleManifest({ id, installedBytes });
    const coming = [
      model('stories', 36_000_000),
      ...Array.from({ length: 9 }, (_, index) => model(`another-model-${index}`)),
    ];
    const text = printBanner({ baseUrl, keys: null, keysFile: null, consoleLink: null, wanted: coming, coming });
    expect(text).toContain('stories (36.0 MB), another-model-0, another-model-1');
    expect(text).toContain('npx sluice models pull media');
    expect(
      Math.max(
        ...text
          .slice(text.indexOf('Still coming'))
          .split('\n')
          .map((line) => line.length),
      ),
    ).toBeLessThanOrEqual(80);
    expect(
      printBanner({ baseUrl, keys: null, keysFile: null, consoleLink: null, wanted: coming, coming: [] }),
    ).toContain('All models of this start are installed.');
  });
});
