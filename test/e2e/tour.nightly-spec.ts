import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';
import { sourcePath } from '#test/source-program';
import { installTinyEncoder } from '#test/tiny-encoder';
import { installTinyImages } from '#test/tiny-images';
import { installTinyModel } from '#test/tiny-models';
import { installTinyWhisper } from '#test/tiny-speech';
import { installTinyInterpolator, installTinyUpscaler } from '#test/tiny-video';
import { installTinyKokoro } from '#test/tiny-voice';

/*
 * `npm run tour` on tiny models and on processes with an empty PATH: everything must work with what the packages bring.
 */

/** The second one is not installed here. */
const inputAdapters = { audio: 'tiny-whisper', image: ['pp-ocr-v4'] };

let home: string;
let platform: Platform;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-home-'));
  const manifests = [
    await installTinyModel(home, { contextLength: 2_048, manifest: { traits: { default: 1 }, inputAdapters } }),
    await installTinyEncoder(home),
    await installTinyKokoro(home),
    await installTinyWhisper(home),
    ...(await installTinyImages(home)),
    await installTinyInterpolator(home, { manifest: { traits: { interpolate: 1 } } }),
    await installTinyUpscaler(home, { id: 'tiny-video-upscaler', manifest: { traits: { upscale: 1 } } }),
  ];
  platform = await startPlatform({ engine: 'text', home, manifests, env: { PATH: join(home, 'no-tools') } });
});
afterAll(async () => {
  try {
    await stopConsistently(platform);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});

/** Runs the tour; returns what became of each step. */
async function tour(...names: string[]): Promise<{ states: Record<string, string>; output: string; code: number }> {
  const env = { SLUICE_API_KEY: platform.inferenceKey, SLUICE_BASE_URL: platform.baseUrl };
  const args = [sourcePath('scripts/tour.mjs'), '--quick', ...names];
  const { output, code } = await new Promise<{ output: string; code: number }>((resolve) => {
    execFile(process.execPath, args, { env }, (error, stdout, stderr) => {
      resolve({ output: `${stdout}${stderr}`, code: error === null ? 0 : Number(error.code) });
    });
  });
  const lines = output.split('\n').map((line) => /^(ok|missing|refused|failed) +(\S+(?: \S+)*)/.exec(line));
  return { states: Object.fromEntries(lines.flatMap((found) => (found ? [[found[2], found[1]]] : []))), output, code };
}

const everything = [
  'chat',
  'tools',
  'structured output',
  'responses',
  'embeddings',
  'speech',
  'transcription',
  'long audio',
  'PDF in a chat',
  'audio in a chat',
  'image from words',
  'image upscale',
  'background removal',
  'masked edit',
  'image safety',
  'video from images',
  'video upscale',
];

describe('npm run tour', () => {
  it('gets a result in every modality, without any program of the machine', async () => {
    const { states, output, code } = await tour();
    const reached = Object.fromEntries(everything.map((name) => [name, 'ok']));
    expect(states, output).toEqual({ ...reached, 'image in a chat': 'missing' });
    expect(output).toMatch(/^ok +audio in a chat .* by audio=tiny-whisper/m);
    expect(output).toMatch(/^missing +image in a chat .*npx sluice models pull pp-ocr-v4$/m);
    expect(output).toMatch(/^ok +speech +tiny-kokoro .* audio\/mpeg$/m);
    expect(output).toContain('17 of 18 ok, 1 without a model');
    expect(code).toBe(0);
  });

  it('says what has no model, and fails for what is refused', async () => {
    await platform.query("UPDATE models SET disabled = true WHERE id = 'tiny-rife'");
    try {
      await expect
        .poll(async () => (await tour('video from images', 'video upscale')).states)
        .toEqual({ 'video from images': 'missing', 'video upscale': 'missing' });
    } finally {
      await platform.query("UPDATE models SET disabled = false WHERE id = 'tiny-rife'");
    }
    const unknown = await tour('a song');
    expect(unknown.code).toBe(2);
    expect(unknown.output).toContain('Unknown name a song; expected chat, tools');
  });
});
