// MODNet with transformers.js on the CPU and the same graph, from pixels to matte.
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { env, pipeline, RawImage } from '@huggingface/transformers';
import { nowMs, servePeer } from './peer-channel.mjs';

let removeBackground;

/** The preprocessor configuration from the model's page. */
const processor = {
  feature_extractor_type: 'ImageFeatureExtractor',
  do_normalize: true,
  do_pad: false,
  do_rescale: true,
  do_resize: true,
  image_mean: [0.5, 0.5, 0.5],
  image_std: [0.5, 0.5, 0.5],
  resample: 2,
  rescale_factor: 1 / 255,
  size: { shortest_edge: 512 },
  size_divisibility: 32,
};

/** Creates the layout that transformers.js expects, with symbolic links to the installed files. */
async function linkAsTransformersLayout(folder) {
  const copy = await mkdtemp(join(tmpdir(), 'bench-matting-'));
  await mkdir(join(copy, 'onnx'));
  await writeFile(join(copy, 'config.json'), JSON.stringify({ model_type: 'modnet', architectures: ['MODNet'] }));
  await writeFile(join(copy, 'preprocessor_config.json'), JSON.stringify(processor));
  await symlink(join(folder, 'model.onnx'), join(copy, 'onnx', 'model.onnx'));
  return copy;
}

async function load({ folder, threads }) {
  const copy = await linkAsTransformersLayout(folder);
  env.allowRemoteModels = false;
  env.localModelPath = dirname(copy);
  removeBackground = await pipeline('background-removal', basename(copy), {
    dtype: 'fp32',
    device: 'cpu',
    session_options: { intraOpNumThreads: threads, interOpNumThreads: 1 },
  });
  await rm(copy, { recursive: true, force: true });
  return null;
}

async function run({ width, height, data }) {
  const image = new RawImage(new Uint8ClampedArray(data), width, height, 3);
  const startMs = nowMs();
  await removeBackground(image);
  return { ms: nowMs() - startMs };
}

servePeer({ load, run });
