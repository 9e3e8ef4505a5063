// Runs llama.cpp on the CPU through node-llama-cpp, with one sequence per concurrent stream.
import { getLlama, LlamaGrammarEvaluationState } from 'node-llama-cpp';
import { nowMs, servePeer } from './peer-channel.mjs';

let llama;
let model;
let context;
let threadCount;
/** Grammars by the JSON of their schema. */
const grammars = new Map();

async function load({ file, threads }) {
  threadCount = threads;
  llama = await getLlama({ gpu: false, build: 'never', maxThreads: threads, logLevel: 'error' });
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

/** Undefined for any text. */
async function grammarStateOf(schema) {
  if (!schema) return undefined;
  const key = JSON.stringify(schema);
  if (!grammars.has(key)) grammars.set(key, await llama.createGrammarForJsonSchema(schema));
  return new LlamaGrammarEvaluationState({ model, grammar: grammars.get(key) });
}

async function stream({ ids, maxTokens, schema }, sequence, startMs) {
  const pieceMs = [];
  const grammarEvaluationState = await grammarStateOf(schema);
  for await (const _ of sequence.evaluate(ids, { temperature: 0, yieldEogToken: true, grammarEvaluationState })) {
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
