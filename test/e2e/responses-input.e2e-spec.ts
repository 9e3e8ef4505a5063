import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';
import { installTinyModel } from '#test/tiny-models';

/* What the Responses API says about the input of a request, and what it does with too much of it. */

const model = 'tiny-llama';
const price = { usd: 1, diem: 1 };

let home: string;
let platform: Platform;
let client: OpenAI;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-home-'));
  const manifests = [await installTinyModel(home, { manifest: { pricing: { input: price, output: price } } })];
  platform = await startPlatform({ engine: 'text', home, manifests });
  client = new OpenAI({ apiKey: platform.inferenceKey, baseURL: platform.baseUrl, maxRetries: 0 });
});

afterAll(async () => {
  try {
    await stopConsistently(platform);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});

const user = (content: string) => ({ role: 'user' as const, content });
const assistant = (content: string) => ({ role: 'assistant' as const, content });

describe('the count of input tokens', () => {
  it('is that of a response, and costs nothing', async () => {
    const bodies: Pick<OpenAI.Responses.ResponseCreateParamsNonStreaming, 'input' | 'instructions'>[] = [
      { input: 'the river' },
      { input: [user('the river'), assistant('a boat'), user('the sea')], instructions: 'Be brief.' },
      { input: [user('a'), assistant('b'), user('c'), assistant('d'), user('e')] },
    ];
    for (const body of bodies) {
      const counted = await client.responses.inputTokens.count({ model, ...body });
      expect(counted).toEqual({ object: 'response.input_tokens', input_tokens: expect.any(Number) as number });
      const response = await client.responses.create({ model, max_output_tokens: 1, ...body });
      expect(counted.input_tokens).toBe(response.usage?.input_tokens);
    }
    await platform.closedJobs();
    const jobs = await platform.query<{ charged_nano: string | null; state: string }>(
      `SELECT charged_nano, jobs.state FROM jobs LEFT JOIN holds USING (request_id)`,
    );
    const isFree = ({ charged_nano: nano }: { charged_nano: string | null }) => nano === null || nano === '0';
    expect([jobs.length, jobs.filter(isFree).length]).toEqual([2 * bodies.length, bodies.length]);
    expect(new Set(jobs.map(({ state }) => state))).toEqual(new Set(['succeeded']));
  });

  it('is refused as a response would be', async () => {
    const long = client.responses.inputTokens.count({ model, input: 'x y '.repeat(300) });
    await expect(long).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded', param: 'input' });
    const none = client.responses.inputTokens.count({ model, input: [{ role: 'tool', content: 'x' } as never] });
    await expect(none).rejects.toMatchObject({ status: 400, code: 'INVALID_REQUEST' });
  });

  it('leaves addresses that no request has with a 404 in the form of OpenAI', async () => {
    const compact = client.responses.compact({ model, input: 'the river' } as never);
    await expect(compact).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND', type: 'not_found_error' });
    const cancelled = client.responses.cancel('resp_1');
    await expect(cancelled).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND' });
  });
});

describe('input beyond the context', () => {
  const old = Array.from({ length: 30 }, () => [user('the river'), assistant('a boat on the sea')]).flat();
  const input = [...old, user('the end')];
  const body = { model, input, instructions: 'Be brief.', max_output_tokens: 2, temperature: 0 };

  it('loses its oldest items where that is asked for, and never the instructions', async () => {
    await expect(client.responses.create(body)).rejects.toMatchObject({ code: 'context_length_exceeded' });
    const response = await client.responses.create({ ...body, truncation: 'auto' });
    expect([response.truncation, response.usage?.output_tokens]).toEqual(['auto', 2]);
    const tokens = response.usage?.input_tokens ?? 0;
    expect(tokens).toBeGreaterThan(128);
    expect(tokens).toBeLessThanOrEqual(254);
    const short = await client.responses.create({ ...body, input: input.slice(-1), truncation: 'auto' });
    const same = await client.responses.create({ ...body, input: input.slice(-1) });
    expect(short.usage?.input_tokens).toBe(same.usage?.input_tokens);
    const alone = client.responses.create({ ...body, input: 'x y '.repeat(300), truncation: 'auto' });
    await expect(alone).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded' });
  });

  it('streams the same with padding asked for, which it has none of', async () => {
    const options = { truncation: 'auto' as const, stream_options: { include_obfuscation: true } };
    const stream = await client.responses.create({ ...body, ...options, stream: true });
    const types: string[] = [];
    for await (const event of stream) types.push(event.type);
    expect(types.at(-1)).toBe('response.incomplete');
    const template = client.responses.create({ model, prompt: { id: 'pmpt_1' } } as never);
    await expect(template).rejects.toMatchObject({ status: 400, param: 'prompt' });
  });
});
