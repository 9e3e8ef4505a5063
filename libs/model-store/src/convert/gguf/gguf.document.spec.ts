import { resolve } from 'node:path';
import prettier from 'prettier';
import { describe, expect, it } from 'vitest';
import { ggufDocument } from './gguf.document.js';

describe('docs/operate/gguf.md', () => {
  it('lists every type and every word rule', async () => {
    const file = resolve(import.meta.dirname, '../../../../../docs/operate/gguf.md');
    const options = await prettier.resolveConfig(file);
    const text = await prettier.format(ggufDocument(), { ...options, parser: 'markdown' });
    await expect(text).toMatchFileSnapshot(file);
  });
});
