import { decodeImage, encodeImage } from '#media';
import type { ModelManifest } from '#model-registry/manifest';
import { deterministicColour } from '#test/deterministic-image-generator';
import { deterministicManifest, installDeterministicModel } from '#test/deterministic-model';
import type { Platform } from '#test/platform';
import { eventually } from './fault-scene.js';
import type { FaultSlice } from './fault-slice.js';

/* Images, audio and videos of the deterministic generators, for the tests that kill workers. */

const price = (usd: number) => ({ usd, diem: usd });
const nanoPerImage = 10_000_000n;
const nanoPerCharacter = 1_000_000n;
const nanoPerSecond = 20_000_000n;
const framesPerSecond = 24;
/** Requests all frames except the two given ones, one after another. */
const msPerFrame = 70;

/** Installs the models of the media slices. */
export async function installMediaModels(home: string): Promise<ModelManifest[]> {
  const manifests = [
    deterministicManifest('tiny-painter', {
      type: 'image',
      family: 'stable-diffusion',
      constraints: { promptCharacterLimit: 200, steps: { default: 1, max: 1 }, widthHeightDivisor: 8 },
      pricing: { generation: price(0.01), upscale: { '2x': price(0.01), '4x': price(0.01) } },
    }),
    deterministicManifest('tiny-kokoro', {
      type: 'tts',
      family: 'kokoro',
      constraints: undefined,
      kindMembers: {
        voices: ['af_sky'],
        supports_custom_voice_id: false,
        supported_formats: ['mp3', 'wav'],
        default_format: 'mp3',
        pcm_sample_rate: 24_000,
      },
      pricing: { input: price(1_000) },
    }),
    deterministicManifest('tiny-rife', {
      type: 'video',
      family: 'rife',
      familyOptions: { delayMs: msPerFrame },
      slots: 1,
      constraints: {
        model_type: 'image-to-video',
        aspect_ratios: [],
        resolutions: ['256p'],
        durations: ['1s'],
        audio: true,
        audio_configurable: true,
      },
      kindMembers: {
        supported_inputs: ['image_url', 'end_image_url', 'resolution', 'fps'],
        frame_rates: [framesPerSecond],
        max_source_seconds: 20,
      },
      pricing: { per_second: price(0.02) },
    }),
  ];
  for (const manifest of manifests) await installDeterministicModel(home, manifest);
  return manifests;
}

async function post(platform: Platform, path: string, body: object): Promise<Response> {
  const response = await fetch(`${platform.baseUrl}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} with ${await response.text()}`);
  return response;
}

/** Queues a job and polls until its bytes are available. */
async function runQueued(
  platform: Platform,
  kind: 'audio' | 'video',
  body: object,
): Promise<{ requestId: string; bytes: Buffer }> {
  const queued = await post(platform, `/${kind}/queue`, body);
  const { model, queue_id } = (await queued.json()) as { model: string; queue_id: string };
  const bytes = await eventually(
    `the ${kind} is generated`,
    async () => {
      const response = await post(platform, `/${kind}/retrieve`, { model, queue_id });
      const answer = Buffer.from(await response.arrayBuffer());
      return response.headers.get('content-type')?.startsWith(kind) === true && answer;
    },
    120_000,
  );
  return { requestId: queued.headers.get('cf-ray') ?? '', bytes };
}

const imageSlice: FaultSlice = {
  name: 'an image',
  lockMs: 10_000,
  async run(platform, { durationMs, text }) {
    const prompt = `${text} [[delay=${durationMs}]]`;
    const seed = 7;
    const body = { model: 'tiny-painter', prompt, width: 64, height: 64, seed, format: 'png', safe_mode: false };
    const response = await post(platform, '/image/generate', { ...body, return_binary: true });
    const requestId = response.headers.get('cf-ray') ?? '';
    const { data } = await decodeImage(Buffer.from(await response.arrayBuffer()), { channels: 3 });
    const wanted = deterministicColour({ prompt, seed });
    if (wanted.some((sample, channel) => data[channel] !== sample)) throw new Error(`${requestId}: another image`);
    return { requestId, costNano: () => nanoPerImage };
  },
};

const audioSlice: FaultSlice = {
  name: 'audio',
  lockMs: 15_000,
  async run(platform, { durationMs, text }) {
    const sentences = 15;
    const delayMs = Math.round(durationMs / sentences);
    const said = Array.from({ length: sentences }, (_, index) => `${text} says ${index} [[delay=${delayMs}]].`);
    const prompt = said.join(' ');
    const { requestId, bytes } = await runQueued(platform, 'audio', { model: 'tiny-kokoro', prompt });
    if (bytes.length < 1_000) throw new Error(`${requestId}: ${bytes.length} bytes of audio`);
    return { requestId, costNano: () => BigInt(prompt.length) * nanoPerCharacter };
  },
};

const videoSlice: FaultSlice = {
  name: 'a video',
  lockMs: 15_000,
  async run(platform) {
    const [image_url, end_image_url] = await Promise.all([frameUrl(40), frameUrl(200)]);
    const body = { model: 'tiny-rife', duration: '1s', resolution: '256p', image_url, end_image_url };
    const { requestId, bytes } = await runQueued(platform, 'video', body);
    if (bytes.toString('latin1', 4, 8) !== 'ftyp') throw new Error(`${requestId}: no mp4`);
    return { requestId, costNano: () => nanoPerSecond };
  },
};

async function frameUrl(grey: number): Promise<string> {
  const data = new Uint8Array(96 * 64 * 3).fill(grey);
  const bytes = await encodeImage({ width: 96, height: 64, channels: 3, data }, { format: 'png' });
  return `data:image/png;base64,${bytes.toString('base64')}`;
}

export const mediaSlices: readonly FaultSlice[] = [imageSlice, audioSlice, videoSlice];
