// Runs llama.cpp on the CPU through node-llama-cpp, with one sequence per concurrent stream.
import { getLlama } from 'node-llama-cpp';
import { nowMs, servePeer } from './peer-channel.mjs';

let model;
let context;
let threadCount;

async function load({ file, threads }) {
  threadCount = threads;
  const llama = await getLlama({ gpu: false, build: 'never', maxThreads: threads, logLevel: 'error' });
  model = await llama.loadModel({ modelPath: file });
  return null;
}

/** Returns a context with this number of sequences. Only the latest context is kept. */
async function contextFor(sequences, contextSize) {
  if (context?.totalSequences === sequences && context.contextSize >= contextSize) return context;
  await context?.dispose();
  context = await model.createContext({ sequences, contextSize, batchSize: 512, threads: threadCount });
  return context;
}

async function stream({ ids, maxTokens }, sequence, startMs) {
  const pieceMs = [];
  for await (const _ of sequence.evaluate(ids, { temperature: 0, yieldEogToken: true })) {
    pieceMs.push(nowMs());
    if (pieceMs.length === maxTokens) break;
  }
  await sequence.clearHistory();
  return { startMs, pieceMs, tokens: pieceMs.length, promptTokens: ids.length };
}

async function run({ requests, concurrency }) {
  const longest = Math.max(...requests.map(({ ids, maxTokens }) => ids.length + maxTokens));
  const owner = await contextFor(concurrency, Math.ceil(longest / 256) * 256);
  const waiting = requests.map((request, index) => ({ request, index }));
  const timings = [];
  const startMs = nowMs();
  const lanes = Array.from({ length: concurrency }, async () => {
    const sequence = owner.getSequence();
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      timings[next.index] = await stream(next.request, sequence, startMs);
    }
    sequence.dispose();
  });
  await Promise.all(lanes);
  return { timings };
}

servePeer({ load, run });
