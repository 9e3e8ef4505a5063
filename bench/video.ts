import { setTimeout as sleep } from 'node:timers/promises';
import { encodeImage } from '#media';
import type { VideoJobPayload } from '#modalities/video/contract';
import type { InstalledModel } from '#model-store';
import type { Platform } from '#test/platform';
import { bareSubject, type MediaWork, peerSubject, platformSubject, workerSubject } from './media/media-subjects.js';
import { patterned } from './media/patterned.js';
import { installAll, serveModels } from './models.js';
import { type BenchSubjectResult, medianOf, type Ratio, runBench } from './report.js';
import { benchOptions, modelBenchOptions } from './settings.js';

const { home, threads, rounds, json } = benchOptions(
  `npm run bench -- video [options]

A second of 24 frames of 256p between two images by RIFE: in the whole platform (frames, encoding, delivery), in our
worker alone (storage, frames, encoding), in our engine alone (pixels), and by a bare session with the same graph and
frames.`,
  modelBenchOptions,
);

const [width, height] = [384, 256];
/** Seconds between the first and the last of 24 frames. */
const between = 22;
const pollMs = 20;
/** Polls only after most of the previous duration has passed, because polling takes CPU time from the model. */
const quietShare = 0.85;
let lastMs = 0;

function imageOf(shift: number): Promise<Buffer> {
  return encodeImage({ width, height, channels: 3, data: patterned(width, height, shift) }, { format: 'png' });
}

function urlOf(image: Buffer): string {
  return `data:image/png;base64,${image.toString('base64')}`;
}

async function ask(platform: Platform, body: object): Promise<void> {
  const post = async (path: string, sent: object): Promise<Response> => {
    const headers = { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' };
    const response = await fetch(`${platform.baseUrl}${path}`, { method: 'POST', headers, body: JSON.stringify(sent) });
    if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
    return response;
  };
  const startedAt = performance.now();
  const { model, queue_id } = (await (await post('/video/queue', body)).json()) as Record<string, string>;
  await sleep(quietShare * lastMs);
  for (;;) {
    const response = await post('/video/retrieve', { model, queue_id });
    await response.arrayBuffer();
    if (response.headers.get('content-type') === 'video/mp4') break;
    await sleep(pollMs);
  }
  lastMs = performance.now() - startedAt;
}

const [rife] = (await installAll(home, ['rife-4.6'])) as [InstalledModel];
const images = [await imageOf(0), await imageOf(12)] as const;
const [image_url, end_image_url] = [urlOf(images[0]), urlOf(images[1])];
const options = { model: rife.manifest.id, duration: '1s', fps: 24, resolution: '256p', image_url, end_image_url };
const [first, last] = [0, 12].map((shift) => ({ width, height, data: patterned(width, height, shift) }));
/** A worker job as the API creates it from the options. */
const payload: Omit<VideoJobPayload, 'inputs'> = {
  operation: 'between',
  places: [0, between + 1],
  width,
  height,
  fps: 24,
  frames: between + 2,
  scale: 1,
  audio: false,
  maxSeconds: 0,
  resultId: null,
  units: {},
};
const moments = Array.from({ length: between }, (_, index) => (index + 1) / (between + 1));
const second: MediaWork = {
  name: 'second',
  model: rife,
  ask: (platform) => ask(platform, { ...options, prompt: 'It drifts.' }),
  task: 'interpolate',
  inputs: moments.map((moment) => ({ first, last, moment })),
  job: { modality: 'video', payload, images: [...images] },
};
const platform = await serveModels({ home, models: [rife], threads });
try {
  const dims = [1, 3, height, width];
  const planes = (shift: number) => Float32Array.from(patterned(width, height, shift), (sample) => sample / 255);
  const frames = { in0: { data: planes(0), dims }, in1: { data: planes(12), dims } };
  const feeds = moments.map((moment) => ({
    ...frames,
    in2: { data: new Float32Array(width * height).fill(moment), dims: [1, 1, height, width] },
  }));
  const load = { file: `${rife.folder}/${rife.manifest.graphFile}`, threads };
  const subjects = [
    platformSubject(platform, [second]),
    await workerSubject([second], threads),
    await bareSubject([second], threads),
    await peerSubject('bare session', 'onnx-session.mjs', [{ work: second, load, run: { feeds } }]),
  ];
  const ratiosOf = (results: readonly BenchSubjectResult[]): Ratio[] => {
    const ms = (of: string): number => medianOf(results, of, 'secondMs');
    return [
      { name: 'bare session / bare, time', value: ms('bare session') / ms('bare'), aim: 1 },
      { name: 'bare / sluice, time', value: ms('bare') / ms('sluice'), aim: null },
      { name: 'bare worker / sluice, time (1 is no overhead)', value: ms('bare worker') / ms('sluice'), aim: 0.95 },
    ];
  };
  await runBench({ name: 'video', settings: { rounds, threads }, subjects, rounds, ratiosOf, json });
} finally {
  await platform.stop();
}
process.exit(0);
