import { describe, expect, it } from 'vitest';
import { printBanner } from './banner.js';

const baseUrl = 'http://127.0.0.1:3000/api/v1';
const keys = { accountId: 'a', adminKey: 'slk_admin', inferenceKey: 'slk_inference' };

describe('printBanner', () => {
  it('shows the keys at the first start, with examples to paste', () => {
    const text = printBanner({ baseUrl, keys, wanted: [] });
    expect(text).toContain('slk_admin');
    expect(text).toContain('curl -N http://127.0.0.1:3000/api/v1/chat/completions');
    expect(text).toContain('-H "Authorization: Bearer slk_inference"');
    expect(text).toContain("apiKey: 'slk_inference'");
    expect(text).toContain('http://127.0.0.1:3000/docs');
  });

  it('shows no key later', () => {
    const text = printBanner({ baseUrl, keys: null, wanted: [] });
    expect(text).not.toContain('slk_');
    expect(text).toContain('Bearer $SLUICE_API_KEY');
  });
});
