import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeImage, encodeImage, type Pixels } from '#media';
import type { ModelManifest } from '#model-registry/manifest';
import { type Platform, startPlatform } from '#test/platform';
import { hasSoftwareGpu, softwareGpu, softwareGpuTimeouts } from '#test/software-gpu';
import { stopConsistently } from '#test/stop-consistently';
import { installTinyEncoder } from '#test/tiny-encoder';
import { installTinyImages } from '#test/tiny-images';
import { installTinyModel } from '#test/tiny-models';
import { startSluice } from './sluice-command.js';

/*
 * The platform of a fresh machine whose only GPU is a software Vulkan: chat, embeddings and upscaling on it, with the
 * results that the same models give on the processor.
 */

const upscaler = 'tiny-upscaler';
const question = 'Tell me about the river, and about the old mill beside it.';

/** Gray columns of 256 by 256 pixels, the fewest that are upscaled. */
const columns: Pixels = {
  ...{ width: 256, height: 256, channels: 4 },
  data: Uint8Array.from({ length: 256 * 256 * 4 }, (_, index) => (index % 4 === 3 ? 255 : Math.floor(index / 4) % 256)),
};

const onWebgpu = { SLUICE_ALLOW_SOFTWARE_GPU: '1', SLUICE_PROVIDERS: 'webgpu,cpu' };

interface HeldModel {
  modelId: string;
  provider: string;
  providerNote?: string;
}

interface Results {
  text: string;
  streamed: string;
  logprobs: number[];
  vectors: number[][];
  upscaled: Pixels;
}

describe.runIf(hasSoftwareGpu)('the platform on a software Vulkan', { timeout: 900_000 }, () => {
  let home: string;
  let manifests: ModelManifest[];
  let platform: Platform;

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'sluice-home-'));
    const images = await installTinyImages(home);
    manifests = [
      await installTinyModel(home, { id: 'tiny-chat' }),
      await installTinyModel(home, { id: 'tiny-half', dtype: 'float16', layout: 'concat' }),
      await installTinyEncoder(home, { manifest: { aliases: ['text-embedding-tiny'] } }),
      ...images.filter(({ id }) => id === upscaler),
    ];
  });

  afterAll(async () => {
    await rm(home, { recursive: true, force: true });
  });

  async function whileServed<T>(env: Record<string, string>, work: () => Promise<T>): Promise<T> {
    const startWithinMs = softwareGpuTimeouts.timeout;
    platform = await startPlatform({ engine: 'text', home, manifests, env, startWithinMs });
    try {
      return await work();
    } finally {
      await stopConsistently(platform);
    }
  }

  /** The provider of each model, and why it is not the first of the list, as an operator reads it. */
  async function providers(): Promise<Record<string, { provider: string; note: string }>> {
    const { finished } = startSluice(['models', 'placement', '--json'], { DATABASE_URL: platform.databaseUrl });
    const { workers } = JSON.parse((await finished).stdout) as { workers: { models: HeldModel[] }[] };
    const held = workers.flatMap(({ models }) => models);
    return Object.fromEntries(
      held.map(({ modelId, provider, providerNote = '' }) => [modelId, { provider, note: providerNote }]),
    );
  }

  async function askAll(): Promise<Results> {
    const client = new OpenAI({ apiKey: platform.inferenceKey, baseURL: platform.baseUrl, maxRetries: 0 });
    const options = {
      model: 'tiny-chat',
      messages: [{ role: 'user' as const, content: question }],
      ...{ temperature: 0, max_completion_tokens: 16 },
    };
    const [choice] = (await client.chat.completions.create({ ...options, logprobs: true })).choices;
    let streamed = '';
    for await (const chunk of await client.chat.completions.create({ ...options, stream: true })) {
      streamed += chunk.choices[0]?.delta.content ?? '';
    }
    const { data } = await client.embeddings.create({ model: 'text-embedding-tiny', input: [question, 'a boat'] });
    return {
      text: choice?.message.content ?? '',
      streamed,
      logprobs: (choice?.logprobs?.content ?? []).map(({ logprob }) => logprob),
      vectors: data.map(({ embedding }) => embedding),
      upscaled: await imageOf('image/upscale', {
        image: (await encodeImage(columns, { format: 'png' })).toString('base64'),
        ...{ scale: 2, model: upscaler },
      }),
    };
  }

  async function imageOf(path: string, body: object): Promise<Pixels> {
    const response = await fetch(`${platform.baseUrl}/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    expect(response.status).toBe(200);
    return await decodeImage(Buffer.from(await response.arrayBuffer()), { channels: 4, maxPixels: 1_000_000 });
  }

  it('answers chat, embeddings and upscaling there as on the processor', async () => {
    const onDevice = await whileServed({ ...softwareGpu, ...onWebgpu }, async () => {
      const found = await providers();
      for (const id of ['tiny-chat', 'tiny-bert', upscaler]) expect(found[id]?.provider).toBe('webgpu');
      expect(found['tiny-half']).toEqual({ provider: 'cpu', note: expect.stringMatching(/f16/) as string });
      return await askAll();
    });
    const onProcessor = await whileServed({ SLUICE_PROVIDERS: 'cpu' }, askAll);
    expect(onDevice.text).not.toBe('');
    for (const { text, streamed } of [onDevice, onProcessor]) expect(streamed).toBe(text);
    expect(onDevice.text).toBe(onProcessor.text);
    expectClose(onDevice.logprobs, onProcessor.logprobs, 1e-3);
    expect(onDevice.vectors).toHaveLength(2);
    onDevice.vectors.forEach((vector, index) => expectClose(vector, onProcessor.vectors[index] ?? [], 1e-4));
    const [one, other] = [onDevice.upscaled, onProcessor.upscaled];
    expect([one.width, one.height]).toEqual([512, 512]);
    // Rounding may change a color by one.
    expectClose([...one.data], [...other.data], 1);
  });
});

/** Expects numbers that differ by no more than the tolerance. */
function expectClose(found: readonly number[], expected: readonly number[], tolerance: number): void {
  expect(found).toHaveLength(expected.length);
  expect(found.length).toBeGreaterThan(0);
  const worst = found.reduce((most, value, index) => Math.max(most, Math.abs(value - (expected[index] ?? NaN))), 0);
  expect(worst).toBeLessThanOrEqual(tolerance);
}
