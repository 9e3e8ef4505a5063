import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import type { RewriteOptions } from '#gateway';
import type { HttpExchange } from '#platform/http';
import { enhancePrompt, type PromptOptions, requireEnhancer } from './enhance-prompt.js';

const plain: PromptOptions = { prompt: 'a bird', wanted: true, kind: 'generate', safeMode: true, maxCharacters: 1_500 };

async function enhance(changes: Partial<PromptOptions>, rewritten: string | null) {
  const asked: (RewriteOptions & { text: string })[] = [];
  const headers: Record<string, string> = {};
  const rewrite = async (text: string, options: RewriteOptions) => {
    asked.push({ ...options, text });
    return rewritten;
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

describe('a prompt to enhance', () => {
  it('is refused before anything runs if no model can rewrite it, and only if that is wanted', async () => {
    const refusal = new PlatformError('INVALID_REQUEST', 'None.', 'enhance_prompt');
    const rewriter = { requireModel: () => Promise.reject(refusal) };
    const http = { request: { caller: { accountId: 'a' }, headers: {} } } as unknown as HttpExchange;
    await expect(requireEnhancer(rewriter, http, true)).rejects.toBe(refusal);
    await expect(requireEnhancer(rewriter, http, false)).resolves.toBeUndefined();
  });

  it('is rewritten by the chat model, sent in a header and charged once', async () => {
    const { used, asked, headers, early } = await enhance({}, 'a red bird, größer');
    // An account that cannot pay for the image gets no text.
    expect(early).toEqual({});
    expect(used).toEqual({ prompt: 'a red bird, größer', units: { 'prompt-enhancement': 1 } });
    expect(headers).toEqual({ 'x-service-enhanced-prompt': 'a%20red%20bird%2C%20gr%C3%B6%C3%9Fer' });
    expect(asked).toMatchObject([{ text: 'a bird', deadlineMs: 30_000, reservedNano: 40_000_000n }]);
    expect(asked[0]?.instruction).toContain('suitable for all ages');
  });

  it('stays as it is at no cost if it cannot be rewritten or was not requested', async () => {
    const unchanged = { used: { prompt: 'a bird', units: {} }, headers: {}, early: {} };
    expect(await enhance({}, null)).toMatchObject({ ...unchanged, asked: [{ text: 'a bird' }] });
    const unasked = await enhance({ wanted: undefined }, 'another');
    expect(unasked).toEqual({ ...unchanged, asked: [] });
    expect(await enhance({ wanted: false }, 'another')).toEqual(unasked);
  });

  it('is cut at the limit of the model between characters', async () => {
    expect((await enhance({ maxCharacters: 3 }, 'abcdef')).used.prompt).toBe('abc');
    const { used, headers } = await enhance({ maxCharacters: 3 }, 'ab😀😀');
    expect(used.prompt).toBe('ab😀');
    expect(headers['x-service-enhanced-prompt']).toBe('ab%F0%9F%98%80');
  });

  it('omits the safety instruction without safe mode, and names changes in an edit', async () => {
    const { asked } = await enhance({ safeMode: false, kind: 'edit' }, 'x');
    expect(asked[0]?.instruction).not.toContain('all ages');
    expect(asked[0]?.instruction).toContain('change an image');
  });
});
