// Runs a graph in onnxruntime only: the baseline of a program that loads the same file without a platform.
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { nowMs, servePeer } from './peer-channel.mjs';

let session;

async function load({ file, threads }) {
  session = await InferenceSession.create(file, { intraOpNumThreads: threads, interOpNumThreads: 1 });
  return null;
}

/** `feeds`: a list of runs, each with `{ data, dims }` by input name. */
async function run({ feeds }) {
  const startMs = nowMs();
  for (const inputs of feeds) {
    const tensors = Object.entries(inputs).map(([name, { data, dims }]) => [name, new Tensor('float32', data, dims)]);
    await session.run(Object.fromEntries(tensors));
  }
  return { ms: nowMs() - startMs };
}

servePeer({ load, run });
