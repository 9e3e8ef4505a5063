import { encodeImage } from '#media';
import { type ImageOperation, plainImage } from '#modalities/image/contract';
import type { InstalledModel } from '#model-store';
import type { Platform } from '#test/platform';
import { bareSubject, type MediaWork, peerSubject, platformSubject, workerSubject } from './media/media-subjects.js';
import { patterned } from './media/patterned.js';
import { installAll, serveModels } from './models.js';
import { type BenchSubjectResult, medianOf, type Ratio, runBench } from './report.js';
import { benchOptions, modelBenchOptions } from './settings.js';

const { home, threads, rounds, json } = benchOptions(
  `npm run bench -- image [options]

An image of 640 by 480 cut out by MODNet, and one of 320 by 240 doubled by ESRGAN: in the whole platform, in our worker
alone (storage, decoding, engine, encoding), in our engine alone (pixels), in transformers.js with the same graph
(cutting out), and by a bare session on the whole image (doubling).`,
  modelBenchOptions,
);

async function workOf(
  model: InstalledModel,
  { name, path, task, size: [width, height], more, operation }: ImageWork,
): Promise<MediaWork> {
  const data = patterned(width, height);
  const png = await encodeImage({ width, height, channels: 3, data }, { format: 'png' });
  const body = JSON.stringify({ image: png.toString('base64'), ...(path === 'image/upscale' && { scale: 2 }) });
  const payload = plainImage(operation, [], 1);
  const ask = async (platform: Platform): Promise<void> => {
    const headers = { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' };
    const response = await fetch(`${platform.baseUrl}/${path}`, { method: 'POST', headers, body });
    const answer = await response.arrayBuffer();
    if (!response.ok) throw new Error(`${response.status}: ${Buffer.from(answer).toString()}`);
  };
  const inputs = [{ image: { width, height, data }, ...more }];
  return { name, model, ask, task, inputs, job: { modality: 'image', payload, images: [png] } };
}

interface ImageWork {
  name: string;
  path: string;
  operation: ImageOperation;
  task: string;
  size: [width: number, height: number];
  more: object;
}

const installed = await installAll(home, ['modnet', 'esrgan-slim']);
const [modnet, esrgan] = installed as [InstalledModel, InstalledModel];
const large = [640, 480] as const;
const small = [320, 240] as const;
const cutOut = await workOf(modnet, {
  name: 'cutOut',
  path: 'image/background-remove',
  operation: 'remove-background',
  task: 'matte',
  size: [...large],
  more: {},
});
const double = await workOf(esrgan, {
  name: 'double',
  path: 'image/upscale',
  operation: 'upscale',
  task: 'upscale',
  size: [...small],
  more: { scale: 2 },
});
const works = [cutOut, double];
const platform = await serveModels({ home, models: installed, threads });
try {
  const [width, height] = small;
  const planes = Float32Array.from(patterned(width, height), (sample) => sample / 255);
  const feeds = { input: { data: planes, dims: [1, 3, height, width] } };
  const subjects = [
    platformSubject(platform, works),
    await workerSubject(works, threads),
    await bareSubject(works, threads),
    await peerSubject('transformers.js', 'transformers-matting.mjs', [
      {
        work: cutOut,
        load: { folder: modnet.folder, threads },
        run: { width: large[0], height: large[1], data: patterned(...large) },
      },
    ]),
    await peerSubject('bare session', 'onnx-session.mjs', [
      { work: double, load: { file: `${esrgan.folder}/x2.onnx`, threads }, run: { feeds: [feeds] } },
    ]),
  ];
  const ratiosOf = (results: readonly BenchSubjectResult[]): Ratio[] => {
    const ratio = (name: string, slow: string, quick: string, figure: string, aim: number | null): Ratio => ({
      name: `${name}: ${slow} / ${quick}, time`,
      value: medianOf(results, slow, figure) / medianOf(results, quick, figure),
      aim,
    });
    return [
      ratio('cut out', 'transformers.js', 'sluice', 'cutOutMs', null),
      ratio('cut out', 'transformers.js', 'bare', 'cutOutMs', 1),
      ratio('cut out', 'bare worker', 'sluice', 'cutOutMs', 0.95),
      ratio('double', 'bare session', 'bare', 'doubleMs', 1),
      ratio('double', 'bare worker', 'sluice', 'doubleMs', 0.95),
    ];
  };
  await runBench({ name: 'image', settings: { rounds, threads }, subjects, rounds, ratiosOf, json });
} finally {
  await platform.stop();
}
process.exit(0);
