import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { expectInvariant } from '#test/invariant';
import { type Platform, startPlatform } from '#test/platform';

/* Cached prompts on the product's engine: what responses, charges and the engine's own counters say. */

const usd = (amount: number) => ({ usd: amount, diem: amount });
const pricing = { input: usd(1), output: usd(2), cache_input: usd(0.1), cache_write: usd(1.25) };
const chatTemplate = '{% for m in messages %}<{{ m.role }}> {{ m.content }} </{{ m.role }}>{% endfor %}<assistant>';

let platform: Platform;

beforeAll(async () => {
  platform = await startPlatform({
    engine: 'text',
    models: [{ id: 'tiny-llama', contextLength: 1_024, chatTemplate, manifest: { pricing, cacheTokens: 8_192 } }],
  });
});

afterEach(async () => {
  await platform.closedJobs();
  await expectInvariant(platform);
});

afterAll(() => platform?.stop());

interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  prompt_tokens_details: { cached_tokens: number; cache_creation_input_tokens: number };
}

/** Usage of a chat, after checking its cost and its charge against it. */
async function chat(messages: object[], more: object = {}): Promise<Usage> {
  const response = await fetch(`${platform.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'tiny-llama', messages, max_completion_tokens: 3, temperature: 0, ...more }),
  });
  expect(response.status).toBe(200);
  const { usage, cost } = (await response.json()) as { usage: Usage; cost: { usd: number } };
  const { cached_tokens: cached, cache_creation_input_tokens: written } = usage.prompt_tokens_details;
  const plain = usage.prompt_tokens - cached - written;
  const nano = plain * 1_000 + cached * 100 + written * 1_250 + usage.completion_tokens * 2_000;
  expect(cost.usd).toBeCloseTo(nano / 1e9, 12);
  await platform.closedJobs();
  const [hold] = await platform.query<{ charged_nano: string }>(
    'SELECT holds.charged_nano::text FROM holds JOIN jobs USING (request_id) ORDER BY jobs.created_at DESC LIMIT 1',
  );
  expect(hold?.charged_nano).toBe(String(nano));
  return usage;
}

const words = (count: number, word: string) => Array.from({ length: count }, () => word).join(' ');
const system = (word: string) => ({ role: 'system', content: words(60, word) });
const user = (content: unknown) => ({ role: 'user', content });
const details = (usage: Usage) => usage.prompt_tokens_details;

/** Counters of the engine since its start. */
async function engineTokens(): Promise<{ prompt: number; cached: number }> {
  const text = await (await fetch(`${platform.operationsUrl('worker')}/metrics`)).text();
  const figure = (name: string) =>
    Number(new RegExp(`^${name}\\{[^}]*model="tiny-llama"[^}]*\\} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
  return {
    prompt: figure('sluice_engine_prompt_tokens_total'),
    cached: figure('sluice_engine_cached_tokens_total'),
  };
}

async function settledTokens(): ReturnType<typeof engineTokens> {
  for (let last = await engineTokens(); ;) {
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    const next = await engineTokens();
    if (next.prompt === last.prompt && next.cached === last.cached) return next;
    last = next;
  }
}

describe('a system prompt', () => {
  it('is written to the cache once, then read', async () => {
    const first = details(await chat([system('river'), user('the boat')]));
    expect(first.cached_tokens).toBe(0);
    expect(first.cache_creation_input_tokens).toBeGreaterThanOrEqual(60);
    const second = details(await chat([system('river'), user('a mountain')]));
    expect(second.cached_tokens).toBeGreaterThanOrEqual(first.cache_creation_input_tokens - 16);
    expect(second.cached_tokens + second.cache_creation_input_tokens).toBeGreaterThanOrEqual(
      first.cache_creation_input_tokens,
    );
    expect(second.cache_creation_input_tokens).toBeLessThanOrEqual(16);
  });
});

describe('a part marked with cache_control', () => {
  const marked = (text: string) => ({ type: 'text', text, cache_control: { type: 'ephemeral', ttl: '1h' } });

  it('is written up to the mark, and nothing is without a mark', async () => {
    const plain = details(await chat([user(words(50, 'lake'))]));
    expect(plain).toEqual({ cached_tokens: 0, cache_creation_input_tokens: 0 });
    const usage = await chat([user([marked(words(50, 'fish')), { type: 'text', text: words(30, 'bird') }])]);
    const { cache_creation_input_tokens: written } = details(usage);
    expect(written).toBeGreaterThanOrEqual(50);
    expect(written).toBeLessThanOrEqual(usage.prompt_tokens - 30);
  });

  it('is read by the request after it', async () => {
    const content = (text: string) => [marked(words(50, 'hill')), { type: 'text', text }];
    const first = details(await chat([user(content('one'))]));
    const second = details(await chat([user(content('two'))], { prompt_cache_retention: '24h' }));
    expect(first.cache_creation_input_tokens).toBeGreaterThanOrEqual(50);
    expect(second.cached_tokens).toBeGreaterThanOrEqual(first.cache_creation_input_tokens - 16);
  });
});

describe('usage', () => {
  it('agrees with the counters of the engine', async () => {
    // Hosts report their counters from time to time: what the tests before used must be in them.
    const before = await settledTokens();
    const used: Usage[] = [];
    for (const last of ['one', 'two', 'three']) used.push(await chat([system('garden'), user(last)]));
    const sum = (figure: (usage: Usage) => number) => used.reduce((total, usage) => total + figure(usage), 0);
    const prompt = sum(({ prompt_tokens }) => prompt_tokens);
    const cached = sum((usage) => details(usage).cached_tokens);
    const written = sum((usage) => details(usage).cache_creation_input_tokens);
    expect(cached).toBeGreaterThan(0);
    // What is written was computed, so the engine counts it as prompt that was not cached.
    expect(written).toBeGreaterThan(0);
    expect(written).toBeLessThanOrEqual(prompt - cached);
    const expected = { prompt: before.prompt + prompt, cached: before.cached + cached };
    await expect.poll(engineTokens, { timeout: 15_000 }).toEqual(expected);
  });
});
