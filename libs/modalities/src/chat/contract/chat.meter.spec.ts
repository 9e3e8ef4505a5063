import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TextPricing } from '#model-registry/manifest';
import type { ChatJobPayload } from './chat.job.js';
import { chatCost, chatUsageLines, quoteChat } from './chat.meter.js';

const pricing: TextPricing = {
  input: { usd: 0.15, diem: 0.15 },
  output: { usd: 0.6, diem: 0.5 },
  cache_input: { usd: 0.03, diem: 0.03 },
  extended: { context_token_threshold: 1000, input: { usd: 0.3, diem: 0.3 }, output: { usd: 1.2, diem: 1 } },
};

function payload(changes: Partial<ChatJobPayload> = {}): ChatJobPayload {
  const messages = [{ role: 'user' as const, content: 'Hello' }];
  const base = { messages, sampling: {}, n: 1, stop: [], stopTokenIds: [], topLogprobs: null, stripThinking: false };
  return { ...base, ...changes };
}

describe('chatUsageLines', () => {
  it('bills cached tokens at their own price and the rest as input', () => {
    const usage = { promptTokens: 900, cachedTokens: 400, completionTokens: 100, reasoningTokens: 0 };
    expect(
      chatUsageLines(usage, pricing).map(({ kind, units, amountNanoUsd }) => [kind, units, amountNanoUsd]),
    ).toEqual([
      ['input', 500, 75_000n],
      ['cache-input', 400, 12_000n],
      ['output', 100, 60_000n],
    ]);
  });

  it('reprices the whole request once the prompt passes the extended threshold', () => {
    const usage = { promptTokens: 1001, cachedTokens: 1, completionTokens: 10, reasoningTokens: 0 };
    expect(chatUsageLines(usage, pricing).map(({ nanoUsdPerMillion }) => nanoUsdPerMillion)).toEqual([
      300_000_000n,
      300_000_000n,
      1_200_000_000n,
    ]);
  });

  it('bills nothing for a model without prices', () => {
    const usage = { promptTokens: 10, cachedTokens: 0, completionTokens: 10, reasoningTokens: 0 };
    expect(chatUsageLines(usage, null)).toEqual([]);
    expect(chatCost(usage, null)).toEqual({ usd: 0, diem: 0 });
  });
});

describe('chatCost', () => {
  it('adds the lines in both currencies', () => {
    const usage = { promptTokens: 900, cachedTokens: 400, completionTokens: 100, reasoningTokens: 20 };
    expect(chatCost(usage, pricing)).toEqual({ usd: 0.000147, diem: 0.000137 });
  });
});

describe('quoteChat', () => {
  const tariff = { contextLength: 4096, maxCompletionTokens: 512, pricing };

  it('counts a token for every byte of the prompt', () => {
    const quote = quoteChat(payload({ messages: [{ role: 'user', content: '€'.repeat(1000) }] }), tariff);
    expect(quote.promptTokens).toBeGreaterThanOrEqual(3000);
  });

  it('never exceeds the context with the prompt, and counts every choice', () => {
    const messages = [{ role: 'user' as const, content: 'x'.repeat(100_000) }];
    const quote = quoteChat(payload({ messages, n: 3, maxTokens: 7 }), tariff);
    expect(quote.promptTokens).toBe(4096);
    expect(quote.completionTokens).toBe(21);
  });

  it('is never less than any usage within its bounds', () => {
    const share = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(
        fc.nat(6000),
        fc.integer({ min: 1, max: 4 }),
        share,
        share,
        share,
        (bytes, n, prompt, cached, output) => {
          const messages = [{ role: 'user' as const, content: 'x'.repeat(bytes) }];
          const quote = quoteChat(payload({ messages, n }), tariff);
          const promptTokens = Math.floor(quote.promptTokens * prompt);
          const cachedTokens = Math.floor(promptTokens * cached);
          const completionTokens = Math.floor(quote.completionTokens * output);
          const usage = { promptTokens, cachedTokens, completionTokens, reasoningTokens: 0 };
          const billed = chatUsageLines(usage, pricing).reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, 0n);
          // Each line rounds by itself, so three lines may exceed two by one unit.
          expect(billed).toBeLessThanOrEqual(quote.amountNanoUsd + 1n);
        },
      ),
    );
  });
});
