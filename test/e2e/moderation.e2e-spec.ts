import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { deterministicManifest, installDeterministicModel } from '#test/deterministic-model';
import { expectInvariant } from '#test/invariant';
import { type Platform, startPlatform } from '#test/platform';

/* The operator's content policy through the whole platform. */

let home: string;
let policyFile: string;
let platform: Platform;

const price = { usd: 0.01, diem: 0.01 };

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-home-'));
  policyFile = join(home, 'policy.yaml');
  await writeFile(policyFile, 'terms:\n  en: [pipe bomb]\n');
  const manifests = [
    deterministicManifest('tiny-llama', { traits: { default: 1, instruct: 1 } }),
    deterministicManifest('tiny-painter', {
      type: 'image',
      family: 'stable-diffusion',
      traits: { default: 1 },
      constraints: { promptCharacterLimit: 100, steps: { default: 1, max: 1 }, widthHeightDivisor: 8 },
      pricing: { generation: price, upscale: { '2x': price, '4x': price } },
    }),
  ];
  for (const manifest of manifests) await installDeterministicModel(home, manifest);
  platform = await startPlatform({ home, manifests, env: { SLUICE_CONTENT_POLICY_FILE: policyFile } });
});

afterEach(async () => {
  await platform.closedJobs();
  await expectInvariant(platform);
});

afterAll(async () => {
  await platform?.stop();
  await rm(home, { recursive: true, force: true });
});

async function post(path: string, body: object): Promise<Response> {
  return await fetch(`${platform.baseUrl}/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

async function countJobs(): Promise<number> {
  return (await platform.query('SELECT 1 FROM jobs')).length;
}

const say = (content: string, more: object = {}) => ({
  model: 'tiny-llama',
  messages: [{ role: 'user', content: `${content} [[tokens=4]]` }],
  max_completion_tokens: 8,
  ...more,
});
const paint = { model: 'tiny-painter', width: 64, height: 64, format: 'png', safe_mode: false };

describe('a request with a term of the content policy', () => {
  it('is a 422 on every route, before a job exists', async () => {
    const before = await countJobs();
    const param = 'messages';
    const message = 'The request violates the content policy.';
    const error = { message, type: 'invalid_request_error', param, code: 'CONTENT_POLICY_VIOLATION' };
    for (const stream of [false, true]) {
      const refused = await post('chat/completions', say('Build a PIPE-bomb', { stream }));
      expect([refused.status, await refused.json()]).toEqual([422, { error }]);
    }
    const inHistory = say('Go on.');
    inHistory.messages.unshift({ role: 'assistant', content: 'A pipe bomb needs …' });
    expect((await post('chat/completions', inHistory)).status).toBe(422);
    const response = await post('responses', { model: 'tiny-llama', input: 'a pipe bomb' });
    expect([response.status, await response.json()]).toMatchObject([422, { error: { code: error.code } }]);
    const image = await post('image/generate', { ...paint, prompt: 'a pipe bomb', enhance_prompt: true });
    expect([image.status, await image.json()]).toEqual([422, { error: message, code: error.code }]);
    expect(image.headers.get('x-service-is-content-violation')).toBe('true');
    expect(await countJobs()).toBe(before);
  });

  it('is told apart from others, which run and say what was checked', async () => {
    expect((await post('chat/completions', say('Lay a pipe.'))).status).toBe(200);
    const image = await post('image/generate', { ...paint, prompt: 'a bird' });
    expect(image.status).toBe(200);
    expect(image.headers.get('x-service-is-content-violation')).toBe('false');
    expect(image.headers.get('x-service-is-blurred')).toBeNull();
    expect(image.headers.get('x-service-contains-minor')).toBeNull();
  });

  it('is flagged by POST /moderations, which runs and costs nothing', async () => {
    const before = await countJobs();
    const response = await post('moderations', { input: ['A pipe bomb.', 'A pipe.'] });
    const { id, results } = (await response.json()) as { id: string; results: object[] };
    expect([response.status, id]).toEqual([200, expect.stringMatching(/^modr-/)]);
    expect(results).toEqual([
      {
        flagged: true,
        categories: { 'terms/en': true },
        category_scores: { 'terms/en': 1 },
        category_applied_input_types: { 'terms/en': ['text'] },
      },
      expect.objectContaining({ flagged: false, categories: { 'terms/en': false } }),
    ]);
    const parts = [
      { type: 'text', text: 'A bird.' },
      { type: 'text', text: 'A pipe bomb.' },
    ];
    const joined = (await (await post('moderations', { input: parts })).json()) as { results: object[] };
    expect(joined.results).toMatchObject([{ flagged: true }]);
    expect((await post('moderations', { input: [] })).status).toBe(400);
    expect(await countJobs()).toBe(before);
  });

  it('is refused by the file as it is now', async () => {
    await writeFile(policyFile, 'terms:\n  en: [lay a pipe]\n');
    await expect
      .poll(async () => (await post('chat/completions', say('Lay a pipe.'))).status, { timeout: 10_000, interval: 200 })
      .toBe(422);
    expect((await post('chat/completions', say('A pipe bomb!'))).status).toBe(200);
  });
});
