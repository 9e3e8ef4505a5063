import { mebibyte } from '#common/values';
import { statesMemory } from './kept-states.js';
import { type VisionSize, visionWork } from './vision-memory.js';
import { windowCachePositions } from './window-cache.js';

/*
 * Memory of the process that serves a text model on a CPU, in one place: what `sluice models add` prints, what a worker
 * plans with, and what `npm run bench -- peak-memory` compares with the measured peak. bench/notes/memory.md explains them.
 */

/** What the cache of keys and values takes, by token. */
export interface CacheSize {
  /** Of the layers that see the whole context. */
  cacheBytesPerToken: number;
  /** The same in layers with a window of `size` tokens; null without such layers. */
  windowCache: { size: number; bytesPerToken: number } | null;
}

/** What the memory depends on, from the headers of a source or from the graph of an installed model. */
export interface DecoderSize extends CacheSize {
  /** Weights as the runtime keeps them. */
  weightsBytes: number;
  /** The largest matrix of them. */
  largestBytes: number;
  /** Heads of the queries. */
  heads: number;
  vocabularySize: number;
  /** State of one request in layers that do not attend; 0 without such layers. */
  stateBytes: number;
  /** The part that reads images, in a host of its own family; absent: there is none. */
  vision?: VisionSize;
}

/** How a model is used. */
export interface DecoderUse {
  /** Requests that are computed together. */
  slots: number;
  /** Longest prompt and completion of a request, in tokens. */
  contextLength: number;
  /** Tokens that all requests keep together. */
  cacheTokens: number;
}

/** In bytes. */
export interface DecoderMemory {
  /** The runtime, its libraries and the tokenizer. */
  process: number;
  weights: number;
  /** While the model loads: the largest matrix as stored, beside what the runtime makes of it. */
  loading: number;
  /** Keys and values of all tokens. */
  cache: number;
  /** States of layers that do not attend: of running requests, and those that are kept for later prompts. */
  states: number;
  /** Of rows that end in the same moment: they are kept for later prompts before their batch gives them back. */
  cacheCopies: number;
  /** Scores of attention of a piece of a prompt. */
  prefill: number;
  /** Scores of the whole vocabulary for each request. */
  logits: number;
  /** Of the largest image, while it is encoded; 0 without images. */
  image: number;
}

const floatBytes = Float32Array.BYTES_PER_ELEMENT;

/** Measured: Node, ONNX Runtime and the code of an engine, of any family. */
export const runtimeBytes = 128 * mebibyte;
/** Of a tokenizer, by token of its vocabulary. */
const tokenizerBytes = 900;

/** Tokens of a prompt that are computed at once. */
const chunkTokens = 64;
/** Tensors of their size that are in memory at once: products, mask, softmax and its parts; the logits, their log. */
const scoreTensors = 4;
const logitTensors = 4;

/**
 * Bytes that the integer kernels of the runtime add to each block of weights: the sum of its values, and a second copy of
 * its scale.
 */
export const addedBlockBytes = 8;

export function decoderMemory(size: DecoderSize, use: DecoderUse): DecoderMemory {
  const slots = Math.max(1, use.slots);
  const tokens = Math.min(use.cacheTokens, slots * use.contextLength);
  const cache = cacheBytes(size, { slots, tokens });
  const piece = Math.max(chunkTokens, size.vision?.wholeTokens ?? 0);
  return {
    process: runtimeBytes + size.vocabularySize * tokenizerBytes,
    weights: size.weightsBytes + (size.vision?.weightsBytes ?? 0),
    loading: size.largestBytes,
    cache,
    states: statesMemory(size.stateBytes, slots),
    // Half at worst, when the batch gives memory back; a third as measured. A lone row keeps its own cache.
    cacheCopies: slots === 1 ? 0 : cache / 3,
    prefill: scoreTensors * size.heads * piece * (use.contextLength + piece) * floatBytes,
    logits: logitTensors * slots * size.vocabularySize * floatBytes,
    image: size.vision === undefined ? 0 : visionWork(size.vision),
  };
}

/** Memory for the keys and values of all rows, which have `tokens` positions together. */
export function cacheBytes(
  { cacheBytesPerToken, windowCache }: CacheSize,
  rows: { slots: number; tokens: number },
): number {
  const whole = cacheBytesPerToken * rows.tokens;
  return windowCache ? whole + windowCache.bytesPerToken * windowCachePositions(windowCache.size, rows) : whole;
}

/** The highest of it: nothing is computed while the model loads. */
export function peakBytes({ process, weights, loading, ...running }: DecoderMemory): number {
  const used = running.cache + running.states + running.cacheCopies + running.prefill + running.logits + running.image;
  return process + weights + Math.max(loading, used);
}
