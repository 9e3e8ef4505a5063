import { encodePicture } from '#media';
import type { InstalledModel } from '#model-store';
import type { Platform } from '#test/platform';
import { bareContestant, type MediaWork, peerContestant, platformContestant } from './media/media-contestants.js';
import { patterned } from './media/patterned.js';
import { installAll, serveModels } from './models.js';
import { type ContestantResult, medianOf, type Ratio, runBench } from './report.js';
import { benchOptions, modelBenchOptions } from './settings.js';

const { home, threads, rounds, json } = benchOptions(
  `node dist/bench/video.js [options]

A second of 24 frames of 256p between two pictures by RIFE: in the whole platform (frames, encoding, delivery), in our engine
alone, and by a bare session with the same graph and frames.`,
  modelBenchOptions,
);

const [width, height] = [384, 256];
/** Between the first and the last of 24. */
const between = 22;
const pollMs = 20;

async function pictureUrl(shift: number): Promise<string> {
  const pixels = { width, height, channels: 3, data: patterned(width, height, shift) } as const;
  return `data:image/png;base64,${(await encodePicture(pixels, { format: 'png' })).toString('base64')}`;
}

async function ask(platform: Platform, body: object): Promise<void> {
  const post = async (path: string, sent: object): Promise<Response> => {
    const headers = { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' };
    const response = await fetch(`${platform.baseUrl}${path}`, { method: 'POST', headers, body: JSON.stringify(sent) });
    if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
    return response;
  };
  const { model, queue_id } = (await (await post('/video/queue', body)).json()) as Record<string, string>;
  for (;;) {
    const response = await post('/video/retrieve', { model, queue_id });
    await response.arrayBuffer();
    if (response.headers.get('content-type') === 'video/mp4') return;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

const [rife] = (await installAll(home, ['rife-4.6'])) as [InstalledModel];
const [image_url, end_image_url] = await Promise.all([pictureUrl(0), pictureUrl(12)]);
const wish = { model: rife.manifest.id, duration: '1s', fps: 24, resolution: '256p', image_url, end_image_url };
const [first, last] = [0, 12].map((shift) => ({ width, height, data: patterned(width, height, shift) }));
const moments = Array.from({ length: between }, (_, index) => (index + 1) / (between + 1));
const second: MediaWork = {
  name: 'second',
  model: rife,
  ask: (platform) => ask(platform, { ...wish, prompt: 'It drifts.' }),
  task: 'interpolate',
  inputs: moments.map((moment) => ({ first, last, moment })),
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
  const contestants = [
    platformContestant(platform, [second]),
    await bareContestant([second], threads),
    await peerContestant('bare session', 'onnx-session.mjs', [{ work: second, load, run: { feeds } }]),
  ];
  const ratiosOf = (results: readonly ContestantResult[]): Ratio[] => {
    const ms = (of: string): number => medianOf(results, of, 'secondMs');
    return [
      { name: 'bare session / bare, time', value: ms('bare session') / ms('bare'), aim: 1 },
      { name: 'bare / sluice, time (1 is no overhead)', value: ms('bare') / ms('sluice'), aim: 0.95 },
    ];
  };
  await runBench({ name: 'video', settings: { rounds, threads }, contestants, rounds, ratiosOf, json });
} finally {
  await platform.stop();
}
process.exit(0);
