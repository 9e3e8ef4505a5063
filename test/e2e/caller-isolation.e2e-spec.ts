import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nanosPerUsd } from '#common';
import { PrismaService } from '#platform/prisma';
import { fundedAccount } from '#test/funded-account';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';

/* What one caller can learn of another, and what its bodies can do to the process. */

let platform: Platform;
let prisma: PrismaService;

beforeAll(async () => {
  platform = await startPlatform({ engine: 'text' });
  prisma = new PrismaService({ url: platform.databaseUrl, poolSize: 1 });
});

afterAll(async () => {
  await prisma.$disconnect();
  await stopConsistently(platform);
});

/** The key of a new account with 100 USD. */
async function newAccount(): Promise<string> {
  return (await fundedAccount(prisma, 100n * nanosPerUsd)).key;
}

async function post(path: string, body: string, key: string | null = platform.inferenceKey): Promise<Response> {
  const headers = { 'content-type': 'application/json', ...(key !== null && { authorization: `Bearer ${key}` }) };
  return await fetch(`${platform.baseUrl}/${path}`, { method: 'POST', headers, body });
}

/** Tokens of a prompt that were cached. */
async function cachedTokens(content: string, key: string, more: object = {}): Promise<number> {
  const body = { model: 'tiny-llama', messages: [{ role: 'user', content }], max_completion_tokens: 2, ...more };
  const response = await post('chat/completions', JSON.stringify(body), key);
  expect(response.status).toBe(200);
  const { usage } = (await response.json()) as { usage: { prompt_tokens_details: { cached_tokens: number } } };
  return usage.prompt_tokens_details.cached_tokens;
}

describe('prompts of another account', () => {
  const secret = 'the river runs past the old mill and the code of the safe is nine four seven two';

  it('cannot be guessed by the count of cached tokens', async () => {
    const key = platform.inferenceKey;
    expect(await cachedTokens(secret, key)).toBe(0);
    const known = await cachedTokens(secret, key);
    expect(known).toBeGreaterThan(16);
    const words = secret.split(' ');
    for (const count of [4, 8, 12, words.length]) {
      const begin = words.slice(0, count);
      const more = { prompt_cache_key: 'shared' };
      const right = await cachedTokens(`${begin.join(' ')} and`, await newAccount(), more);
      const wrong = await cachedTokens(`${begin.toReversed().join(' ')} and`, await newAccount(), more);
      expect(right).toBe(wrong);
    }
    expect(await cachedTokens(secret, key)).toBe(known);
  });
});

describe('bodies', () => {
  const large = (content: string) =>
    JSON.stringify({ model: 'tiny-llama', messages: [{ role: 'user', content }], max_completion_tokens: 2 });

  it('of more than 256 kB are read in a thread: valid, malformed and too long for the model', async () => {
    const padding = ' '.repeat(300 * 1024);
    const valid = await post('chat/completions', large('hello') + padding);
    expect(valid.status).toBe(200);
    const malformed = await post('chat/completions', `${padding}{"model":`);
    expect(await malformed.json()).toMatchObject({ error: { code: 'INVALID_REQUEST', message: /position/ } });
    const surrogate = await post('chat/completions', large('hello').replace('hello', String.raw`\ud800`) + padding);
    expect(await surrogate.json()).toMatchObject({ error: { param: 'messages[0].content' } });
  });

  it('of too many values, members or containers get 413 naming the limit, and cost nothing', async () => {
    const members = `{${Array.from({ length: 600_000 }, (_value, index) => `"k${index}":1`).join(',')}}`;
    for (const [body, limit] of [
      [members, '50,000 members'],
      [`[${'1,'.repeat(250_000)}1]`, '200,000 values'],
      [`[${'[],'.repeat(120_000)}1]`, '100,000 objects and arrays'],
    ] as const) {
      const response = await post('chat/completions', body);
      expect(response.status).toBe(413);
      expect(await response.text()).toContain(limit);
    }
  });

  it('are limited to 64 kB where no key is needed', async () => {
    const body = JSON.stringify({ description: 'x'.repeat(70_000) });
    const response = await post('api_keys/generate_web3_key', body, null);
    expect(response.status).toBe(413);
    expect(await response.text()).toContain('64 kB');
  });
});
