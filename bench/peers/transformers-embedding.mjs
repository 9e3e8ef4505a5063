// Sentence embeddings with transformers.js on the CPU and the same weights. Requests run one after another; the texts of each
// form one padded batch.
import { basename, dirname } from 'node:path';
import { env, pipeline } from '@huggingface/transformers';
import { nowMs, servePeer } from './peer-channel.mjs';

let extract;

async function load({ folder, threads }) {
  env.allowRemoteModels = false;
  env.localModelPath = dirname(folder);
  extract = await pipeline('feature-extraction', basename(folder), {
    dtype: 'fp32',
    device: 'cpu',
    subfolder: '',
    session_options: { intraOpNumThreads: threads, interOpNumThreads: 1 },
  });
  return null;
}

async function run({ requests }) {
  const startMs = nowMs();
  const requestMs = [];
  for (const texts of requests) {
    const requestStartMs = nowMs();
    await extract(texts, { pooling: 'mean', normalize: true });
    requestMs.push(nowMs() - requestStartMs);
  }
  return { ms: nowMs() - startMs, requestMs };
}

servePeer({ load, run });
