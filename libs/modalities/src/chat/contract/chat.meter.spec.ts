import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chargeLines, type Pricing, quoteUnits } from '#model-registry/manifest';
import { createHostIdentity } from '#tee';
import { sealText } from '#tee/sealing';
import { plainChat } from '#test/plain-chat';
import { boundChat, chatCost, chatUnits, choiceCount, clampChat, quoteChat } from './chat.meter.js';

const pricing: Pricing = {
  input: { usd: 0.15, diem: 0.15 },
  output: { usd: 0.6, diem: 0.5 },
  cache_input: { usd: 0.03, diem: 0.03 },
  extended: { context_token_threshold: 1000, input: { usd: 0.3, diem: 0.3 }, output: { usd: 1.2, diem: 1 } },
};

const price = (usd: number) => ({ usd, diem: usd });

describe('chatUnits', () => {
  it('bills cached tokens at their own price and the rest as input', () => {
    const usage = { promptTokens: 900, cachedTokens: 400, completionTokens: 100, reasoningTokens: 0 };
    const amounts = chargeLines('m', chatUnits(usage, pricing), pricing).map(({ amountNano }) => amountNano);
    expect(chatUnits(usage, pricing).map(({ sku, count }, line) => [sku, count, amounts[line]])).toEqual([
      ['llm-input-mtoken', 500, 75_000n],
      ['llm-cache-input-mtoken', 400, 12_000n],
      ['llm-output-mtoken', 100, 60_000n],
    ]);
  });

  it('reprices the whole request once the prompt passes the extended threshold', () => {
    const usage = { promptTokens: 1001, cachedTokens: 1, completionTokens: 10, reasoningTokens: 0 };
    expect(chargeLines('m', chatUnits(usage, pricing), pricing).map(({ unitPriceNano }) => unitPriceNano)).toEqual([
      300_000_000n,
      300_000_000n,
      1_200_000_000n,
    ]);
  });

  it('bills nothing for a model without prices', () => {
    const usage = { promptTokens: 10, cachedTokens: 0, completionTokens: 10, reasoningTokens: 0 };
    expect(chargeLines('m', chatUnits(usage, null), null)).toEqual([]);
    expect(chatCost(usage, null, 9n)).toEqual({ usd: 0, diem: 0 });
  });
});

describe('chatCost', () => {
  it.each([
    [0n, { usd: 0.000147, diem: 0 }],
    [47_000n, { usd: 0.0001, diem: 0.000047 }],
    [147_000n, { usd: 0, diem: 0.000147 }],
    [1_000_000n, { usd: 0, diem: 0.000147 }],
  ])('adds up the lines, with %d nano-DIEM paying first', (heldDiemNano, cost) => {
    const usage = { promptTokens: 900, cachedTokens: 400, completionTokens: 100, reasoningTokens: 20 };
    expect(chatCost(usage, pricing, heldDiemNano)).toEqual(cost);
  });
});

describe('quoteChat', () => {
  const limits = { contextLength: 4096, maxCompletionTokens: 512, pricing };

  it('bounds the tokens of a sealed text by the bytes that it opens to', () => {
    const large = { ...limits, contextLength: 100_000 };
    const tokensOf = (content: string, changes: Parameters<typeof plainChat>[0] = {}) =>
      quoteChat(plainChat({ messages: [{ role: 'user', content }], ...changes }), large).promptTokens;
    const { publicKey } = createHostIdentity();
    const sealing = { clientPublicKey: publicKey, hostPublicKey: publicKey };
    for (const text of ['', 'Hello', 'Grüße 👋', 'x'.repeat(5_000)]) {
      const field = sealText(text, Buffer.from(publicKey, 'hex'));
      expect(tokensOf(field, { sealing })).toBe(tokensOf(text));
      expect(tokensOf(`${field}\n\n${field}`, { sealing })).toBe(tokensOf(`${text}\n\n${text}`));
      expect(tokensOf(text, { sealing })).toBe(tokensOf(text));
    }
  });

  it('counts tools and their calls', () => {
    const large = { ...limits, contextLength: 100_000 };
    const tokensOf = (changes: Parameters<typeof plainChat>[0]) => quoteChat(plainChat(changes), large).promptTokens;
    const parameters = { type: 'object', properties: { city: { type: 'string', description: '€'.repeat(900) } } };
    const tools = [{ name: 'now', parameters, strict: false }];
    expect(tokensOf({ tools }) - tokensOf({})).toBeGreaterThan(JSON.stringify(tools, null, 4).length + 1_800);
    // The prompt does not mention tools that must not be called.
    expect(tokensOf({ tools, toolChoice: 'none' })).toBe(tokensOf({}));
    const call = { id: 'call_1', name: 'now', arguments: JSON.stringify({ city: '€'.repeat(500) }) };
    const withCall = tokensOf({ messages: [{ role: 'assistant', content: '', toolCalls: [call] }] });
    expect(withCall - tokensOf({ messages: [{ role: 'assistant', content: '' }] })).toBeGreaterThan(1_500);
  });

  it('counts one token for every byte of the prompt', () => {
    const quote = quoteChat(plainChat({ messages: [{ role: 'user', content: '€'.repeat(1000) }] }), limits);
    expect(quote.promptTokens).toBeGreaterThanOrEqual(3000);
  });

  it('never exceeds the context including the prompt, and counts every choice', () => {
    const messages = [{ role: 'user' as const, content: 'x'.repeat(100_000) }];
    const quote = quoteChat(plainChat({ messages, n: 3, maxTokens: 7 }), limits);
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
          const quote = quoteChat(plainChat({ messages, n }), limits);
          const promptTokens = Math.floor(quote.promptTokens * prompt);
          const cachedTokens = Math.floor(promptTokens * cached);
          const completionTokens = Math.floor(quote.completionTokens * output);
          const usage = { promptTokens, cachedTokens, completionTokens, reasoningTokens: 0 };
          const billed = quoteUnits(chatUnits(usage, pricing), pricing);
          // Each line is rounded by itself, so three lines may exceed two by one unit; the ledger never charges more
          // than was reserved.
          expect(billed).toBeLessThanOrEqual(quote.amountNanoUsd + 1n);
        },
      ),
    );
  });
});

describe('quoteChat with images', () => {
  const image = { artifactId: 'a', position: 0, param: 'messages[0].content[0]' };
  const large = { contextLength: 8192, maxCompletionTokens: 512, pricing };
  const tokensOf = (images: number, imageTokens?: number) => {
    const messages = [{ role: 'user' as const, content: 'Hello', images: Array.from({ length: images }, () => image) }];
    return quoteChat(plainChat({ messages }), { ...large, imageTokens }).promptTokens;
  };

  it('counts the most that each takes, up to the context', () => {
    expect(tokensOf(2, 1000) - tokensOf(0, 1000)).toBe(2000);
    expect(tokensOf(20, 1000)).toBe(8192);
  });

  it('counts the whole context where nothing says how many', () => {
    expect(tokensOf(1)).toBe(8192);
  });
});

describe('quoteChat with unusual price lists', () => {
  it('covers a cache hit that costs more than input, and an extended tier that costs less', () => {
    const odd: Pricing = {
      input: { usd: 1, diem: 1 },
      output: { usd: 1, diem: 1 },
      cache_input: { usd: 3, diem: 3 },
      extended: { context_token_threshold: 100, input: { usd: 0.1, diem: 0.1 }, output: { usd: 0.1, diem: 0.1 } },
    };
    const quote = quoteChat(plainChat(), { contextLength: 4096, maxCompletionTokens: 512, pricing: odd });
    const usage = { promptTokens: 100, cachedTokens: 100, completionTokens: 512, reasoningTokens: 0 };
    const billed = quoteUnits(chatUnits(usage, odd), odd);
    expect(billed).toBeLessThanOrEqual(quote.amountNanoUsd);
  });
});

describe('clampChat', () => {
  const limits = { contextLength: 4096, maxCompletionTokens: 512, pricing };

  it('finds the longest output that the balance pays for', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 3_000_000n }), fc.integer({ min: 1, max: 4 }), (grantable, n) => {
        const asked = plainChat({ n });
        const clamped = clampChat(asked, limits, grantable);
        const cost = (maxTokens: number) => quoteChat({ ...asked, maxTokens }, limits).amountNanoUsd;
        if (clamped === null) {
          expect(cost(1)).toBeGreaterThan(grantable);
          return;
        }
        const { maxTokens = 0 } = clamped;
        expect(cost(maxTokens)).toBeLessThanOrEqual(grantable);
        if (maxTokens < 512) expect(cost(maxTokens + 1)).toBeGreaterThan(grantable);
      }),
    );
  });

  it('never raises the requested limit', () => {
    expect(clampChat(plainChat({ maxTokens: 7 }), limits, 10n ** 12n)).toMatchObject({ maxTokens: 7 });
  });
});

describe('a charge of a chat', () => {
  it('bills written tokens at `cache_write` where the model has that price, else as input', () => {
    const usage = {
      promptTokens: 900,
      cachedTokens: 400,
      cacheWriteTokens: 300,
      completionTokens: 100,
      reasoningTokens: 0,
    };
    const written: Pricing = { ...pricing, cache_write: { usd: 0.2, diem: 0.2 }, extended: undefined };
    const amounts = (prices: Pricing) =>
      chargeLines('m', chatUnits(usage, prices), prices).map(({ sku, amountNano }) => [sku, amountNano]);
    expect(amounts(written)).toEqual([
      ['m-llm-input-mtoken', 30_000n],
      ['m-llm-cache-input-mtoken', 12_000n],
      ['m-llm-cache-write-mtoken', 60_000n],
      ['m-llm-output-mtoken', 60_000n],
    ]);
    expect(amounts({ ...written, cache_write: undefined })).toEqual([
      ['m-llm-input-mtoken', 75_000n],
      ['m-llm-cache-input-mtoken', 12_000n],
      ['m-llm-output-mtoken', 60_000n],
    ]);
    const extended = { context_token_threshold: 100, input: price(1), output: price(1), cache_write: price(2) };
    expect(amounts({ ...written, extended })).toContainEqual(['m-llm-cache-write-mtoken', 600_000n]);
  });

  it('is covered by the quote when a cache write costs more than input', () => {
    const odd: Pricing = { input: price(1), output: price(1), cache_write: price(4) };
    const quote = quoteChat(plainChat(), { contextLength: 4096, maxCompletionTokens: 512, pricing: odd });
    const { promptTokens, completionTokens } = quote;
    const usage = {
      promptTokens,
      cachedTokens: 0,
      cacheWriteTokens: promptTokens,
      completionTokens,
      reasoningTokens: 0,
    };
    expect(quoteUnits(chatUnits(usage, odd), odd)).toBe(quote.amountNanoUsd);
  });

  it('counts in millions of tokens and names the SKU', () => {
    const usage = { promptTokens: 900, cachedTokens: 400, completionTokens: 100, reasoningTokens: 0 };
    expect(chargeLines('m', chatUnits(usage, pricing), pricing)).toEqual([
      { sku: 'm-llm-input-mtoken', units: '0.000500', unitPriceNano: 150_000_000n, amountNano: 75_000n },
      { sku: 'm-llm-cache-input-mtoken', units: '0.000400', unitPriceNano: 30_000_000n, amountNano: 12_000n },
      { sku: 'm-llm-output-mtoken', units: '0.000100', unitPriceNano: 600_000_000n, amountNano: 60_000n },
    ]);
    expect(chargeLines('m', chatUnits(usage, null), null)).toEqual([]);
  });
});

describe('texts to continue', () => {
  const reach = { contextLength: 1_000, maxCompletionTokens: 500 };
  const prompts = [
    { text: 'abc', param: 'prompt[0]' },
    { tokenIds: [1, 2, 3, 4], param: 'prompt[1]' },
    { text: 'x'.repeat(5_000), param: 'prompt[2]' },
  ];
  const payload = plainChat({ messages: [], prompts, n: 2, maxTokens: 10 });

  it('are bounded one by one, with the choices of each', () => {
    expect(choiceCount(payload)).toBe(6);
    expect(boundChat(payload, reach)).toEqual({ promptTokens: 19 + 20 + 1_000, completionTokens: 60 });
  });

  it('are quoted at what they can use at most', () => {
    const worst = { promptTokens: 1_039, cachedTokens: 0, completionTokens: 60, reasoningTokens: 0 };
    const flat = { input: pricing.input, output: pricing.output } as Pricing;
    expect(quoteChat(payload, { ...reach, pricing: flat }).amountNanoUsd).toBe(
      quoteUnits(chatUnits(worst, flat), flat),
    );
  });

  it('get as many tokens for every choice as an amount pays for', () => {
    const limits = { ...reach, pricing };
    const { amountNanoUsd } = quoteChat({ ...payload, maxTokens: 4 }, limits);
    expect(clampChat(payload, limits, amountNanoUsd)?.maxTokens).toBe(4);
  });
});
