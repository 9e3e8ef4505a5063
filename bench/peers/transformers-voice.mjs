// Kokoro with transformers.js on the CPU and the same weights, as kokoro-js runs it. The benchmark supplies the phonemes,
// because kokoro-js computes them with a library under the GPL.
import { mkdtemp, rm, symlink, writeFile, mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { env, StyleTextToSpeech2Model, Tensor } from '@huggingface/transformers';
import { nowMs, servePeer } from './peer-channel.mjs';

let model;

/** Creates the layout that transformers.js expects, with symbolic links to the installed files. */
async function linkAsTransformersLayout(folder) {
  const copy = await mkdtemp(join(tmpdir(), 'bench-voice-'));
  await mkdir(join(copy, 'onnx'));
  await writeFile(join(copy, 'config.json'), JSON.stringify({ model_type: 'style_text_to_speech_2' }));
  for (const name of ['model.onnx', 'model.onnx_data']) await symlink(join(folder, name), join(copy, 'onnx', name));
  return copy;
}

async function load({ folder, threads }) {
  const copy = await linkAsTransformersLayout(folder);
  env.allowRemoteModels = false;
  env.localModelPath = dirname(copy);
  model = await StyleTextToSpeech2Model.from_pretrained(basename(copy), {
    dtype: 'fp32',
    device: 'cpu',
    use_external_data_format: true,
    session_options: { intraOpNumThreads: threads, interOpNumThreads: 1 },
  });
  await rm(copy, { recursive: true, force: true });
  return null;
}

async function run({ sentences }) {
  const startMs = nowMs();
  let samples = 0;
  for (const { ids, style } of sentences) {
    const { waveform } = await model({
      input_ids: new Tensor('int64', BigInt64Array.from(ids, BigInt), [1, ids.length]),
      style: new Tensor('float32', Float32Array.from(style), [1, style.length]),
      speed: new Tensor('float32', [1], [1]),
    });
    samples += waveform.data.length;
  }
  return { samples, ms: nowMs() - startMs };
}

servePeer({ load, run });
