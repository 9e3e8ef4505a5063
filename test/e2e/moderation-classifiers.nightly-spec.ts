import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeImage } from '#media';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';
import { installTinyEncoder } from '#test/tiny-encoder';
import { installTinySafety, installTinyToxicity } from '#test/tiny-images';
import { installTinyModel } from '#test/tiny-models';

/* The classifiers of texts and images for moderation, in real model hosts behind the real processes. */

let home: string;
let policyFile: string;
let platform: Platform;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-home-'));
  policyFile = join(home, 'policy.yaml');
  await writeFile(policyFile, 'classifier: { model: tiny-toxicity }\n');
  const manifests = [
    await installTinyModel(home, { manifest: { traits: { default: 1 } } }),
    await installTinyEncoder(home),
    await installTinySafety(home),
    await installTinyToxicity(home, 'rotten'),
  ];
  platform = await startPlatform({
    engine: 'text',
    home,
    manifests,
    env: { SLUICE_CONTENT_POLICY_FILE: policyFile },
  });
});

afterAll(async () => {
  try {
    await stopConsistently(platform);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});

async function post(path: string, body: object): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`${platform.baseUrl}/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: await response.json() };
}

const say = (content: string, more: object = {}) => ({
  model: 'tiny-llama',
  messages: [{ role: 'user', content }],
  max_completion_tokens: 4,
  ...more,
});
const violation = { error: { code: 'CONTENT_POLICY_VIOLATION' } };

async function imageOf(red: number, rest: number): Promise<object> {
  const data = new Uint8Array(64 * 64 * 3).map((_, at) => (at % 3 === 0 ? red : rest));
  const png = await encodeImage({ width: 64, height: 64, channels: 3, data }, { format: 'png' });
  return { type: 'image_url', image_url: { url: `data:image/png;base64,${png.toString('base64')}` } };
}

describe('classifiers', () => {
  it('refuse prompts of every modality before a job of theirs exists, at no cost', async () => {
    // The word is far behind the first window of the model.
    const refused = await post('chat/completions', say(`${'a '.repeat(60)} Rotten!`));
    expect(refused).toMatchObject({ status: 422, body: { error: { ...violation.error, param: 'messages' } } });
    expect(await post('chat/completions', say('rotten', { stream: true }))).toMatchObject({ status: 422 });
    const embedding = { model: 'tiny-bert', input: ['a', 'a rotten apple'] };
    expect(await post('embeddings', embedding)).toMatchObject({ status: 422, body: violation });
    await platform.closedJobs();
    expect(await platform.query("SELECT 1 FROM jobs WHERE model_id <> 'tiny-toxicity'")).toEqual([]);
    expect(await platform.query("SELECT 1 FROM ledger_transactions WHERE kind = 'charge'")).toEqual([]);

    expect(await post('chat/completions', say('a'))).toMatchObject({ status: 200 });
    expect(await post('embeddings', { ...embedding, input: 'an apple' })).toMatchObject({ status: 200 });
  });

  it('say in POST /moderations what they find in texts and images', async () => {
    expect(await post('moderations', { input: ['rotten', 'a'] })).toMatchObject({
      status: 200,
      body: {
        results: [
          { flagged: true, categories: { toxic: true }, category_applied_input_types: { toxic: ['text'] } },
          { flagged: false, categories: { toxic: false } },
        ],
      },
    });
    const text = { type: 'text', text: 'a' };
    expect(await post('moderations', { input: [text, await imageOf(255, 0)] })).toMatchObject({
      status: 200,
      body: {
        results: [
          {
            flagged: true,
            categories: { toxic: false, sexual: true },
            category_applied_input_types: { sexual: ['image'] },
          },
        ],
      },
    });
    expect(await post('moderations', { input: [await imageOf(0, 255)] })).toMatchObject({
      body: { results: [{ flagged: false, categories: { sexual: false } }] },
    });
    const broken = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
    expect(await post('moderations', { input: [broken] })).toMatchObject({
      status: 400,
      body: { error: { param: 'input[0].image_url.url' } },
    });
  });

  it('that no worker serves let no prompt pass', async () => {
    await writeFile(policyFile, 'classifier: { model: nobody }\n');
    const status = async () => (await post('chat/completions', say('a'))).status;
    await expect.poll(status, { timeout: 20_000, interval: 200 }).toBe(503);
    await writeFile(policyFile, 'classifier: { model: tiny-bert }\n');
    await expect
      .poll(async () => (await post('chat/completions', say('a'))).body)
      .toMatchObject({
        error: { message: expect.stringContaining('tiny-bert classifies nothing') },
      });
  });
});
