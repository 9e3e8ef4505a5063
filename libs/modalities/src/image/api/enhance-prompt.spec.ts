import { describe, expect, it } from 'vitest';
import type { HttpExchange, RewriteOptions } from '#gateway';
import { enhancePrompt, type PromptOptions } from './enhance-prompt.js';

const plain: PromptOptions = { prompt: 'a bird', wanted: true, kind: 'generate', safeMode: true, maxCharacters: 1_500 };

async function enhance(changes: Partial<PromptOptions>, answer: string | null) {
  const asked: (RewriteOptions & { text: string })[] = [];
  const headers: Record<string, string> = {};
  const rewrite = async (text: string, options: RewriteOptions) => {
    asked.push({ ...options, text });
    return answer;
  };
  const exchange = {
    request: { caller: { accountId: 'a' }, headers: {} },
    reply: { header: (name: string, value: string) => void (headers[name] = value) },
    disconnected: new AbortController().signal,
  } as unknown as HttpExchange;
  const { announce, ...used } = await enhancePrompt({ rewrite }, exchange, { ...plain, ...changes });
  const early = { ...headers };
  announce();
  return { used, asked, headers, early };
}

describe('a prompt to be enhanced', () => {
  it('is what the chat model makes of it, which a header tells and the caller pays once', async () => {
    const { used, asked, headers, early } = await enhance({}, 'a red bird, größer');
    // Whoever cannot pay the picture gets no text for nothing.
    expect(early).toEqual({});
    expect(used).toEqual({ prompt: 'a red bird, größer', units: { 'prompt-enhancement': 1 } });
    expect(headers).toEqual({ 'x-service-enhanced-prompt': 'a%20red%20bird%2C%20gr%C3%B6%C3%9Fer' });
    expect(asked).toMatchObject([{ text: 'a bird', deadlineMs: 30_000, reservedNano: 40_000_000n }]);
    expect(asked[0]?.instruction).toContain('suitable for all ages');
  });

  it('stays as it came, for nothing, when it cannot be rewritten or nobody asked', async () => {
    const kept = { used: { prompt: 'a bird', units: {} }, headers: {}, early: {} };
    expect(await enhance({}, null)).toMatchObject({ ...kept, asked: [{ text: 'a bird' }] });
    const unasked = await enhance({ wanted: undefined }, 'another');
    expect(unasked).toEqual({ ...kept, asked: [] });
    expect(await enhance({ wanted: false }, 'another')).toEqual(unasked);
  });

  it('is cut at the limit of the model, never through a character', async () => {
    expect((await enhance({ maxCharacters: 3 }, 'abcdef')).used.prompt).toBe('abc');
    const { used, headers } = await enhance({ maxCharacters: 3 }, 'ab😀😀');
    expect(used.prompt).toBe('ab😀');
    expect(headers['x-service-enhanced-prompt']).toBe('ab%F0%9F%98%80');
  });

  it('is not asked to be modest without safe mode, and speaks of changes in an edit', async () => {
    const { asked } = await enhance({ safeMode: false, kind: 'edit' }, 'x');
    expect(asked[0]?.instruction).not.toContain('all ages');
    expect(asked[0]?.instruction).toContain('change a picture');
  });
});
