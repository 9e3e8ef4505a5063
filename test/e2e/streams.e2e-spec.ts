import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { itInFull } from '#test/extent';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';

/* The real text engine on tiny generated models: many concurrent streams that do not affect each other. */

let platform: Platform;
let client: OpenAI;

beforeAll(async () => {
  platform = await startPlatform({
    engine: 'text',
    models: [
      { id: 'tiny-llama', shape: 'llama' },
      { id: 'tiny-qwen', shape: 'qwen', layout: 'concat' },
    ],
  });
  client = new OpenAI({ apiKey: platform.inferenceKey, baseURL: platform.baseUrl, maxRetries: 0 });
});

afterAll(async () => {
  await stopConsistently(platform);
});

interface Options {
  model: string;
  content: string;
  tokens: number;
  seed: number;
}

/** Different models, prompts, lengths and seeds; every second one greedy. */
function options(index: number): Options {
  return {
    model: index % 5 === 0 ? 'tiny-qwen' : 'tiny-llama',
    content: 'the boat and the sea '.repeat(1 + (index % 7)) + String(index),
    tokens: 4 + ((index * 7) % 40),
    seed: index + 1,
  };
}

function requestOf({ model, content, tokens, seed }: Options, index: number) {
  return {
    model,
    messages: [{ role: 'user' as const, content }],
    max_completion_tokens: tokens,
    seed,
    temperature: index % 2,
  };
}

async function streamed(index: number): Promise<{ text: string; tokens: number }> {
  const stream = await client.chat.completions.create({
    ...requestOf(options(index), index),
    stream: true,
    stream_options: { include_usage: true },
  });
  let text = '';
  let tokens = 0;
  for await (const { choices, usage } of stream) {
    text += choices[0]?.delta.content ?? '';
    tokens = usage?.completion_tokens ?? tokens;
  }
  return { text, tokens };
}

describe('the text engine behind the API', () => {
  itInFull('generates the same text in 50 concurrent streams as in single ones', async () => {
    const indexes = Array.from({ length: 50 }, (_, index) => index);
    const together = await Promise.all(indexes.map(streamed));
    const alone: { text: string; tokens: number }[] = [];
    for (const index of indexes) alone.push(await streamed(index));
    expect(together).toEqual(alone);
    expect(together.some(({ text }) => text.length > 0)).toBe(true);
    const jobs = await platform.closedJobs();
    expect(jobs.map(({ state }) => state)).toEqual(Array.from({ length: 100 }, () => 'succeeded'));
  });

  it('generates the same text with and without streaming, and counts the same tokens', async () => {
    const whole = await client.chat.completions.create(requestOf(options(3), 3));
    const { text, tokens } = await streamed(3);
    expect(text).toBe(whole.choices[0]?.message.content);
    expect(tokens).toBe(whole.usage?.completion_tokens);
  });

  it('gives token probabilities that add up to at most one', async () => {
    const answer = await client.chat.completions.create({
      ...requestOf(options(1), 1),
      logprobs: true,
      top_logprobs: 20,
    });
    const tokens = answer.choices[0]?.logprobs?.content ?? [];
    expect(tokens.length).toBeGreaterThan(0);
    for (const { top_logprobs: alternatives } of tokens) {
      const total = alternatives.reduce((sum, { logprob }) => sum + Math.exp(logprob), 0);
      expect(total).toBeLessThanOrEqual(1.001);
      expect(alternatives.map(({ logprob }) => logprob)).toEqual(
        alternatives.map(({ logprob }) => logprob).toSorted((left, right) => right - left),
      );
    }
  });

  it('rejects a prompt one token over the context, and accepts the largest one that fits', async () => {
    const lengthOf = async (words: number): Promise<{ status: number; promptTokens: number }> => {
      const call = client.chat.completions.create({
        model: 'tiny-llama',
        messages: [{ role: 'user', content: 'a '.repeat(words) }],
        max_completion_tokens: 1,
      });
      return await call.then(
        ({ usage }) => ({ status: 200, promptTokens: usage?.prompt_tokens ?? 0 }),
        (error: unknown) => ({ status: error instanceof OpenAI.APIError ? Number(error.status) : 0, promptTokens: 0 }),
      );
    };
    let fits = 1;
    let over = 600;
    while (over - fits > 1) {
      const middle = Math.floor((fits + over) / 2);
      if ((await lengthOf(middle)).status === 200) fits = middle;
      else over = middle;
    }
    expect((await lengthOf(fits)).promptTokens).toBeGreaterThan(200);
    const refused = client.chat.completions.create({
      model: 'tiny-llama',
      messages: [{ role: 'user', content: 'a '.repeat(over) }],
    });
    await expect(refused).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded', param: 'messages' });
  });

  it('continues after its host is killed during many streams', async () => {
    const doomed = Array.from({ length: 8 }, (_, index) => {
      const request = requestOf({ ...options(1), tokens: 200, content: `go on ${index}` }, 0);
      return client.chat.completions.create({ ...request, stream: true }).then(async (stream) => {
        for await (const chunk of stream) void chunk;
        return 'done';
      });
    });
    const settled = Promise.allSettled(doomed);
    process.kill(platform.hostPid('tiny-llama'), 'SIGKILL');
    for (const result of await settled) {
      if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(OpenAI.APIError);
    }
    expect((await client.chat.completions.create(requestOf(options(5), 5))).choices).toHaveLength(1);
    await platform.untilOnline();
    expect((await client.chat.completions.create(requestOf(options(1), 1))).choices).toHaveLength(1);
    await platform.closedJobs();
  });
});
