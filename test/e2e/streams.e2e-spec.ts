import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Platform, startPlatform } from '#test/platform';
import { stopAudio } from '#test/stop-audio';

/* The product's own engine on tiny generated models: many streams at once, and no mark left by one on another. */

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
  await stopAudio(platform);
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

describe('the text engine behind the api', () => {
  it('gives 50 streams at once the text each has alone', async () => {
    const indexes = Array.from({ length: 50 }, (_, index) => index);
    const together = await Promise.all(indexes.map(streamed));
    const alone: { text: string; tokens: number }[] = [];
    for (const index of indexes) alone.push(await streamed(index));
    expect(together).toEqual(alone);
    expect(together.some(({ text }) => text.length > 0)).toBe(true);
    const jobs = await platform.closedJobs();
    expect(jobs.map(({ state }) => state)).toEqual(Array.from({ length: 100 }, () => 'succeeded'));
  });

  it('streams what it answers whole, and counts the same tokens', async () => {
    const whole = await client.chat.completions.create(requestOf(options(3), 3));
    const { text, tokens } = await streamed(3);
    expect(text).toBe(whole.choices[0]?.message.content);
    expect(tokens).toBe(whole.usage?.completion_tokens);
  });

  it('scores tokens with probabilities that add up to no more than one', async () => {
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

  it('refuses a prompt one token over the context, and takes the one below', async () => {
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

  it('goes on after its host is killed in the middle of many streams', async () => {
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
