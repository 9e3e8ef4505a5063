import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, streamText } from 'ai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deterministicWords } from '#test/deterministic-engine';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';

/* The AI SDK against the real processes. */

let platform: Platform;

beforeAll(async () => {
  platform = await startPlatform();
});

afterAll(async () => {
  await stopConsistently(platform);
});

function model() {
  const provider = createOpenAICompatible({
    name: 'sluice',
    baseURL: platform.baseUrl,
    apiKey: platform.inferenceKey,
    includeUsage: true,
  });
  return provider.chatModel('tiny-llama');
}

describe('the AI SDK', () => {
  it('generates text with its usage', async () => {
    const { text, usage, finishReason } = await generateText({
      model: model(),
      prompt: 'Hello [[tokens=5]]',
      maxRetries: 0,
    });
    expect(text).toBe(deterministicWords('user: Hello [[tokens=5]]', { count: 5 }).join(''));
    expect([usage.inputTokens, usage.outputTokens, finishReason]).toEqual([3, 5, 'stop']);
  });

  it('streams text and reasoning', async () => {
    const result = streamText({ model: model(), prompt: 'Think [[tokens=6 think=3]]', maxRetries: 0 });
    const parts: string[] = [];
    for await (const part of result.fullStream) parts.push(part.type);
    expect(parts).toContain('reasoning-delta');
    expect(parts.indexOf('reasoning-delta')).toBeLessThan(parts.indexOf('text-delta'));
    expect((await result.usage).outputTokens).toBeGreaterThan(0);
    const words = deterministicWords('user: Think [[tokens=6 think=3]]', { count: 6 });
    expect((await result.text).trim()).toBe(words.slice(3).join('').trim());
  });

  it('reports an error in the middle of a stream', async () => {
    const errors: unknown[] = [];
    const result = streamText({
      model: model(),
      prompt: '[[fail=2]]',
      maxRetries: 0,
      onError: ({ error }) => void errors.push(error),
    });
    await result.consumeStream();
    expect(errors.length).toBeGreaterThan(0);
  });

  it('cancels the job when it is aborted', async () => {
    const abort = new AbortController();
    const result = streamText({
      model: model(),
      prompt: '[[tokens=5000 delay=20]]',
      abortSignal: abort.signal,
      maxRetries: 0,
      onError: () => undefined,
    });
    for await (const part of result.fullStream) if (part.type === 'text-delta') abort.abort();
    expect((await platform.closedJobs()).at(-1)?.state).toBe('cancelled');
  });
});
