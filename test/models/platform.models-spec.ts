import { readdir, readFile } from 'node:fs/promises';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Platform, startPlatform } from '#test/platform';
import { installedWeights, weightsHome } from './starter-weights.js';

const storyModel = 'stories-15m';
const chatModel = 'qwen2.5-coder-0.5b-instruct';

const openings = [
  'Once upon a time',
  'Lily had a red ball',
  'The big bear was',
  'Tom and Sam went to the park',
  'It was dark',
];

/** Fifty prompts of different lengths, with outputs of different lengths. */
const requests = Array.from({ length: 50 }, (_, index) => ({
  content: `${openings[index % openings.length]}${' and then the little dog ran'.repeat(index % 7)}`,
  maxTokens: 5 + ((index * 13) % 70),
}));

/** Model hosts are children of the worker; the largest is the one with the chat model. */
async function hostsOf(workerPid: number): Promise<{ pid: number; residentKilobytes: number }[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const statuses = await Promise.all(
    pids.map(async (pid) => ({
      pid: Number(pid),
      text: await readFile(`/proc/${pid}/status`, 'utf8').catch(() => ''),
    })),
  );
  const numberIn = (text: string, name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0);
  return statuses
    .filter(({ text }) => numberIn(text, 'PPid') === workerPid)
    .map(({ pid, text }) => ({ pid, residentKilobytes: numberIn(text, 'VmRSS') }))
    .toSorted((left, right) => left.residentKilobytes - right.residentKilobytes);
}

describe('the platform with real weights', () => {
  let platform: Platform;
  let client: OpenAI;

  beforeAll(async () => {
    const models = await Promise.all([installedWeights(storyModel), installedWeights(chatModel)]);
    platform = await startPlatform({
      engine: 'text',
      home: weightsHome,
      manifests: models.map(({ manifest }) => manifest),
    });
    client = new OpenAI({ baseURL: platform.baseUrl, apiKey: platform.inferenceKey, maxRetries: 0 });
  });
  afterAll(() => platform?.stop());

  async function streamText(model: string, content: string, maxTokens: number): Promise<string> {
    const stream = await client.chat.completions.create({
      model,
      messages: [{ role: 'user', content }],
      max_completion_tokens: maxTokens,
      temperature: 0,
      // Seeded, so that rounding does not depend on what the first runs left in the cache.
      seed: 1,
      stream: true,
    });
    let text = '';
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
    return text;
  }

  it('generates the same text in fifty concurrent streams as in single ones', async () => {
    const alone: string[] = [];
    for (const { content, maxTokens } of requests) alone.push(await streamText(storyModel, content, maxTokens));
    const together = await Promise.all(
      requests.map(({ content, maxTokens }) => streamText(storyModel, content, maxTokens)),
    );
    expect(together).toEqual(alone);
    expect(new Set(alone).size).toBeGreaterThan(25);
    const rows = await platform.closedJobs();
    expect(rows.map(({ state }) => state)).toEqual(requests.concat(requests).map(() => 'succeeded'));
  });

  it('serves a chat with the model behind the default trait', async () => {
    const answer = await client.chat.completions.create({
      model: 'default',
      messages: [
        { role: 'system', content: 'You answer in one short sentence.' },
        { role: 'user', content: 'What is the capital of France?' },
      ],
      max_completion_tokens: 24,
      temperature: 0,
    });
    expect(answer.model).toBe(chatModel);
    expect(answer.choices[0]?.message.content).toMatch(/Paris/);
    expect(answer.usage?.completion_tokens).toBeLessThanOrEqual(24);
  });

  it('ends the streams of a model whose host dies with the documented error, while other models continue', async () => {
    const hosts = await hostsOf(platform.pid('worker'));
    const [storyHost] = hosts;
    expect(hosts).toHaveLength(2);
    const [broken, chat] = await Promise.all([
      readUntilError(() => process.kill(storyHost?.pid ?? 0, 'SIGKILL')),
      streamText(chatModel, 'Say hello.', 12),
    ]);
    // The row records the lost device; clients get the public code.
    expect(broken).toMatchObject({ code: 'MODEL_OFFLINE' });
    expect(chat).not.toBe('');
    await platform.untilOnline();
    expect(await streamText(storyModel, 'Once upon a time', 10)).not.toBe('');
    const rows = await platform.closedJobs();
    expect(rows.filter(({ state }) => state === 'failed').map((row) => row.error_code)).toEqual(['DEVICE_LOST']);
  });

  /** Streams a long story; calls back once its text has begun, and returns the error that ends it. */
  async function readUntilError(onBegun: () => void): Promise<unknown> {
    const stream = await client.chat.completions.create({
      model: storyModel,
      messages: [{ role: 'user', content: 'Once upon a time' }],
      max_completion_tokens: 240,
      n: 4,
      stream: true,
    });
    let begun = false;
    try {
      for await (const chunk of stream) {
        if (!begun && chunk.choices[0]?.delta.content) onBegun();
        begun ||= Boolean(chunk.choices[0]?.delta.content);
      }
    } catch (error) {
      return error;
    }
    return null;
  }
});
