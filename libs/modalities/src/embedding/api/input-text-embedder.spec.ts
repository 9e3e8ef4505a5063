import { describe, expect, it } from 'vitest';
import type { JobQuote } from '#billing';
import { noTokens, PlatformError } from '#common';
import type { ModelRequest } from '#gateway';
import { testDouble } from '#test/test-double';
import type { EmbeddingJobPayload } from '../contract/embedding.job.js';
import { InputTextEmbedder } from './input-text-embedder.js';

const maxInputTokens = 64;
const vector = [0.5, -2];
const part = { indexes: [0], dimensions: 2, data: Buffer.from(new Float32Array(vector).buffer).toString('base64') };

/** Runs jobs that return a vector per text; `ran` has them. */
const ran: { payload: EmbeddingJobPayload; quote: JobQuote }[] = [];
const runner = {
  run: async (job: object, onEvent: (event: never) => unknown) => {
    const { payload } = job as (typeof ran)[number];
    ran.push(job as (typeof ran)[number]);
    const isTooLong = payload.texts.some((text) => Buffer.byteLength(text) > maxInputTokens);
    if (isTooLong) throw new PlatformError('TOO_MANY_TOKENS', 'x');
    for (const index of payload.texts.keys())
      await onEvent({ ...part, type: 'vectors-ready', indexes: [index] } as never);
    return noTokens;
  },
};

/** A request whose job returns a vector, or fails. */
function modelOf(orders: object[], failure?: PlatformError): ModelRequest {
  const limited = {
    collect: (order: object, newCollector: () => { add(event: object): void }) => {
      orders.push(order);
      const collected = newCollector();
      collected.add(part);
      return failure === undefined ? Promise.resolve({ collected }) : Promise.reject(failure);
    },
  };
  return {
    requireServed: () => undefined,
    manifest: { kindMembers: { maxInputTokens } },
    price: () => Promise.resolve({ pricing: { input: { usd: 1, diem: 1 } } }),
    limit: () => Promise.resolve(limited),
  } as unknown as ModelRequest;
}

async function embed(text: string, failure?: PlatformError) {
  const orders: { payload: EmbeddingJobPayload; amountNano: bigint }[] = [];
  const input = { text, param: 'p', deadlineMs: 1_000 };
  const work = await new InputTextEmbedder(testDouble(runner), testDouble({ site: 'SLC' })).prepare(
    modelOf(orders, failure),
    input,
  );
  await work.limit();
  return { vector: await work.run(work.amountNano + 5n), text: orders[0]?.payload.texts[0], orders, work };
}

describe('the embedder of texts that help with a request', () => {
  it('shortens them where the model does not read them whole', async () => {
    const model = Object.assign(modelOf([]), { http: { request: { caller: { accountId: 'a' }, headers: {} } } });
    const input = { texts: ['one', '1,3,5,'.repeat(50)], deadlineMs: 1_000, signal: new AbortController().signal };
    const before = ran.length;
    expect(
      await new InputTextEmbedder(testDouble(runner), testDouble({ site: 'SLC' })).embedFreely(model, input),
    ).toHaveLength(2);
    const lengths = ran.slice(before).map(({ payload }) => payload.texts.map((text) => text.length));
    expect(lengths).toEqual([
      [3, 300],
      [3, 47],
    ]);
  });

  it('returns a vector per text, and charges nothing', async () => {
    const model = Object.assign(modelOf([]), { http: { request: { caller: { accountId: 'a' }, headers: {} } } });
    model.manifest.id = 'encoder';
    const input = { texts: ['one', 'two'], deadlineMs: 1_000, signal: new AbortController().signal };
    const embedder = new InputTextEmbedder(testDouble(runner), testDouble({ site: 'SLC' }));
    expect(await embedder.embedFreely(model, input)).toEqual([vector, vector]);
    expect(ran.at(-1)).toMatchObject({ modelId: 'encoder', payload: { texts: input.texts } });
    expect([ran.at(-1)?.quote.amountNano, ran.at(-1)?.quote.price.pricing]).toEqual([0n, null]);
  });
});

describe('the embedder of questions', () => {
  it('returns the vector of a job that reserves what the caller says', async () => {
    const { vector: found, text, orders, work } = await embed('When?');
    expect([found, text]).toEqual([vector, 'When?']);
    expect(orders[0]?.amountNano).toBe(work.amountNano + 5n);
    expect(work.amountNano).toBe(64_000n);
  });

  it.each(['a b '.repeat(100), '港は夕方に'.repeat(40), '🙂'.repeat(60), '\uFDFA'.repeat(30)])(
    'shortens %s to what every tokenizer takes, from both ends',
    async (long) => {
      const { text = '' } = await embed(long);
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxInputTokens - 16);
      expect(text).not.toContain('\uFFFD');
      const whole = long.normalize('NFKC');
      expect([whole.startsWith(text.slice(0, 4)), whole.endsWith(text.slice(-4))]).toEqual([true, true]);
    },
  );

  it('names the field where the job fails', async () => {
    const failure = new PlatformError('INFERENCE_FAILED', 'x');
    await expect(embed('When?', failure)).rejects.toMatchObject({ code: 'INFERENCE_FAILED', param: 'p' });
    const limit = new PlatformError('RATE_LIMIT_EXCEEDED', 'x');
    await expect(embed('When?', limit)).rejects.toBe(limit);
  });
});
