/** One request of a workload. Greedy; its output ends at `maxTokens` or where the model ends it. */
export interface BenchRequest {
  id: string;
  prompt: string;
  maxTokens: number;
}

/** A set of requests and how many of them run concurrently. */
export interface BenchCase {
  name: string;
  concurrency: number;
  /** Requests of one run. Every run has its own prompts, so that none is cached. */
  requests: (run: number) => BenchRequest[];
  /** Consecutive runs of a contender before the next one's turn. */
  runsInARow: number;
}

/** Limits of a model, within which the cases stay. */
export interface ModelShape {
  contextLength: number;
  /** Output tokens of the fixed cases. */
  outputTokens: number;
}

const words =
  'the old man saw a small dog near the river and she gave him bread while one red bird sang over the green field ' +
  'until rain came down on every house so they ran home to their mother who lit a fire and told them about the sea';
const vocabulary = words.split(' ');

/** Deterministic generator: the same workload in every run and on every machine. */
export function randomSource(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** About `tokens` tokens of plain English words, which are one token each in most vocabularies. */
export function promptOf(tokens: number, seed: number): string {
  const random = randomSource(seed * 7919 + 17);
  const chosen = Array.from({ length: tokens }, () => vocabulary[Math.floor(random() * vocabulary.length)]);
  return `Once ${chosen.join(' ')}`;
}

/**
 * N streams of equal length that start together. A single stream is short, and the first one after a pause finds cold
 * caches, so several in a row are measured.
 */
export function streamsCase(streams: number, promptTokens: number, shape: ModelShape): BenchCase {
  return {
    name: `${streams} stream${streams === 1 ? '' : 's'}, ${promptTokens} in, ${shape.outputTokens} out`,
    concurrency: streams,
    runsInARow: streams === 1 ? 6 : 1,
    requests: (run) =>
      Array.from({ length: streams }, (_, index) => ({
        id: `${run}-${index}`,
        prompt: promptOf(promptTokens, run * 1000 + index),
        maxTokens: shape.outputTokens,
      })),
  };
}

/** 64 requests queued at the start, 16 running at once; prompts and outputs of varied lengths. */
export function mixedCase(shape: ModelShape, requests = 64): BenchCase {
  const longest = Math.min(100, Math.floor(shape.contextLength / 2) - 16);
  return {
    name: `mixed: ${requests} requests, 16 at once`,
    concurrency: 16,
    runsInARow: 1,
    requests: (run) => {
      const random = randomSource(run + 11);
      return Array.from({ length: requests }, (_, index) => ({
        id: `${run}-${index}`,
        prompt: promptOf(8 + Math.floor(random() * (longest - 8)), run * 1000 + 500 + index),
        maxTokens: 16 + Math.floor(random() * 104 * Math.min(1, shape.outputTokens / 64)),
      }));
    },
  };
}

/** A long prompt sent twice with different endings; the second request may reuse the computed prefix. */
export interface PrefixCase {
  name: string;
  /** [warm-up prompt, prompt with the same prefix] */
  prompts: (repetition: number) => [string, string];
}

export function prefixCase(prefixTokens: number, endingTokens: number): PrefixCase {
  return {
    name: `prefix of ${prefixTokens} tokens reused`,
    prompts: (repetition) => {
      const prefix = promptOf(prefixTokens, repetition * 1000 + 900);
      const ending = (seed: number) => promptOf(endingTokens, repetition * 1000 + seed);
      return [`${prefix}. ${ending(901)}`, `${prefix}. ${ending(902)}`];
    },
  };
}
