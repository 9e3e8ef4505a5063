// Whisper with transformers.js on the CPU and the same weights. transformers.js splits long recordings into windows of 30 s.
import { basename, dirname } from 'node:path';
import { env, pipeline } from '@huggingface/transformers';
import { nowMs, servePeer } from './peer-channel.mjs';

let transcribe;

async function load({ folder, threads }) {
  env.allowRemoteModels = false;
  env.localModelPath = dirname(folder);
  transcribe = await pipeline('automatic-speech-recognition', basename(folder), {
    dtype: 'q8',
    device: 'cpu',
    session_options: { intraOpNumThreads: threads, interOpNumThreads: 1 },
  });
  return null;
}

async function run({ samples, language, words }) {
  const startMs = nowMs();
  const long = samples.length > 30 * 16_000;
  const { text } = await transcribe(samples, {
    language,
    ...(long && { chunk_length_s: 30, stride_length_s: 5 }),
    ...((long || words) && { return_timestamps: words ? 'word' : true }),
  });
  return { text, ms: nowMs() - startMs };
}

servePeer({ load, run });
