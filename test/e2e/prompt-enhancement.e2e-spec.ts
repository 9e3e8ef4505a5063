import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { decodeImage } from '#media';
import { deterministicManifest, installDeterministicModel } from '#test/deterministic-model';
import { deterministicColour } from '#test/deterministic-image-generator';
import { expectInvariant } from '#test/invariant';
import { type Platform, startPlatform } from '#test/platform';

/*
 * `enhance_prompt` through the whole platform: a scripted chat model, and an image generator that shows the prompt it
 * gets.
 */

const nanoPerImage = 10_000_000n;
const nanoPerEnhancement = 40_000_000n;
const price = { usd: 0.01, diem: 0.01 };
const seed = 11;

let home: string;
let platform: Platform;

/** Total balance of the account. */
const creditNano = 3n * nanoPerEnhancement;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-home-'));
  const manifests = [
    // The best default model follows no instructions, so it never rewrites a prompt.
    deterministicManifest('tiny-stories', { traits: { default: 2 } }),
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
  platform = await startPlatform({ home, manifests, creditNano });
});

afterEach(async () => {
  await platform.closedJobs();
  await expectInvariant(platform);
});

afterAll(async () => {
  await platform?.stop();
  await rm(home, { recursive: true, force: true });
});

interface GeneratedImage {
  status: number;
  /** Charge in the response header; null without it. */
  enhanced: string | null;
  colour: number[];
}

async function paint(prompt: string, more: object = {}): Promise<GeneratedImage> {
  const body = { model: 'tiny-painter', prompt, seed, width: 64, height: 64, format: 'png', safe_mode: false };
  const response = await fetch(`${platform.baseUrl}/image/generate`, {
    method: 'POST',
    headers: { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, return_binary: true, enhance_prompt: true, ...more }),
  });
  const header = response.headers.get('x-service-enhanced-prompt');
  const bytes = Buffer.from(await response.arrayBuffer());
  if (response.headers.get('content-type') !== 'image/png')
    return { status: response.status, enhanced: null, colour: [] };
  const { data } = await decodeImage(bytes, { channels: 3 });
  const enhanced = header === null ? null : decodeURIComponent(header);
  return { status: response.status, enhanced, colour: [...data.subarray(0, 3)] };
}

interface JobOfPrompt {
  modality: string;
  model_id: string;
  state: string;
  held_nano: string;
  charged_nano: string | null;
}

/** Jobs since `before`, in order. */
async function jobsSince(before: number): Promise<JobOfPrompt[]> {
  await platform.closedJobs();
  const rows = await platform.query<JobOfPrompt>(
    `SELECT jobs.modality, jobs.model_id, jobs.state::text, (holds.usd_nano + holds.diem_nano + holds.bundled_nano)::text AS held_nano,
            holds.charged_nano::text
       FROM jobs LEFT JOIN holds ON holds.request_id = jobs.request_id ORDER BY jobs.created_at`,
  );
  return rows.slice(before);
}

async function countJobs(): Promise<number> {
  return (await platform.query('SELECT 1 FROM jobs')).length;
}

describe('a prompt to be enhanced', () => {
  it('is generated as the chat model wrote it, charged once, with a free chat job', async () => {
    const before = await countJobs();
    const { status, enhanced, colour } = await paint('a red bird [[tokens=12]]');
    expect(status).toBe(200);
    expect(enhanced?.length).toBeGreaterThan(20);
    expect(enhanced?.length).toBeLessThanOrEqual(100);
    expect(colour).toEqual(deterministicColour({ prompt: enhanced ?? '', seed }));
    expect(await jobsSince(before)).toEqual([
      // Reserved while it is written, so that the later charge is covered.
      {
        modality: 'chat',
        model_id: 'tiny-llama',
        state: 'succeeded',
        held_nano: String(nanoPerEnhancement),
        charged_nano: '0',
      },
      {
        modality: 'image',
        model_id: 'tiny-painter',
        state: 'succeeded',
        held_nano: String(nanoPerImage + nanoPerEnhancement),
        charged_nano: String(nanoPerImage + nanoPerEnhancement),
      },
    ]);
  });

  it('is used unchanged at the price of the image when the chat model fails', async () => {
    const before = await countJobs();
    const prompt = 'a blue bird [[tokens=12 fail=3]]';
    const { status, enhanced, colour } = await paint(prompt);
    expect([status, enhanced]).toEqual([200, null]);
    expect(colour).toEqual(deterministicColour({ prompt, seed }));
    const [chat, image] = await jobsSince(before);
    expect(chat).toMatchObject({ modality: 'chat', state: 'failed', charged_nano: '0' });
    expect(image).toMatchObject({ modality: 'image', charged_nano: String(nanoPerImage) });
  });

  it('is used unchanged when the account can pay the image but not the enhancement', async () => {
    // The balance is 120 million nano-USD: 60 are spent, 40 are charged now.
    await paint('a green bird', { variants: 4, return_binary: false, enhance_prompt: false });
    const before = await countJobs();
    const prompt = 'a yellow bird [[tokens=12]]';
    const { status, enhanced, colour } = await paint(prompt);
    expect([status, enhanced]).toEqual([200, null]);
    expect(colour).toEqual(deterministicColour({ prompt, seed }));
    expect(await jobsSince(before)).toMatchObject([{ modality: 'image', charged_nano: String(nanoPerImage) }]);
    expect((await paint('a white bird', { enhance_prompt: false })).status).toBe(200);
    expect((await paint('a black bird')).status).toBe(402);
  });
});
