import { mebibyte } from '#common/values';
import { runtimeBytes } from './decoder-memory.js';

/*
 * Memory of the process that serves a model on a CPU whose graph no converter of text models wrote. bench/notes/memory.md
 * explains the terms and compares them with measurements.
 */

/** What the memory depends on, from the files of a model. */
export interface FamilySize {
  /** As in manifests. */
  family: string;
  /** Weights and voices as the runtime keeps them. */
  weightsBytes: number;
  /** Size of `tokenizer.json`. */
  tokenizerBytes: number;
  /** `config.json`. */
  config: Readonly<Record<string, unknown>>;
  /** Longest text in tokens, or those that all requests of a `decoder` keep together; 0 for families without. */
  maxTokens: number;
  /** Pixels of the largest image that a network of the family `matting` takes; absent: none. */
  pixels?: number;
}

/** In bytes. */
export interface FamilyMemory {
  /** The runtime, its libraries and the tokenizer. */
  process: number;
  weights: number;
  /** Of the largest piece in which the family works: a window of audio, a sentence, a tile, a batch of tokens. */
  work: number;
}

const floatBytes = Float32Array.BYTES_PER_ELEMENT;

/** Objects of a tokenizer over the text that they are read from. */
const tokenizerFactor = 20;

/**
 * Memory beside the weights of families whose piece is the same in every model, and whose networks differ little, in
 * MiB. Within a tenth of each bundled model with `npm run bench -- peak-memory`, images as large as its largest included.
 * Families whose requests are estimated one by one have none here: such a request gets what the models leave.
 */
const measuredWork: Readonly<Record<string, number>> = {
  'coco-ssd': 80,
  esrgan: 575,
  kokoro: 469,
  modnet: 280,
  moonshine: 142,
  'nsfw-mobilenet': 75,
  // Measured with an encoder of the published sizes, random weights and two of its 24 layers, which run one by one.
  parakeet: 240,
  piper: 480,
  'pp-ocr': 282,
  'tiny-tts': 646,
  u2net: 245,
};

/**
 * ISNet takes 1,017 at 1,024 by 1,024 pixels; the rest is for larger networks, which are not measured. The bundled
 * networks have figures of their own above.
 */
const bytesPerMattePixel = 1_500;

/** Measured: the arena of the runtime grows in steps that double, and some of their gaps have been used before. */
const arenaFactor = 1.2;
/** Scores of attention and their softmax. */
const scoreTensors = 2;
/** A text model whose graph takes a cache and returns a longer one: both, and the one before, until it is collected. */
const cacheCopies = 3;
/** Tokens of a batch of texts, unless one of them is longer. */
const batchTokens = 512;

export interface HostMemory {
  /** Less is of no use. */
  leastBytes: number;
  /** With the largest requests that the manifest allows. */
  fullBytes: number;
}

export function familyMemory({ weightsBytes, tokenizerBytes, ...size }: FamilySize): FamilyMemory {
  return {
    process: runtimeBytes + tokenizerBytes * tokenizerFactor,
    weights: weightsBytes,
    work: workBytes(size),
  };
}

export function familyPeakBytes(size: FamilySize): number {
  const { process, weights, work } = familyMemory(size);
  return process + weights + work;
}

/**
 * A text model needs one request of the whole context. Encoders of long texts need a batch of ordinary ones: scores grow
 * with the square of a text, so the longest takes many times that, and gets what the models leave.
 */
export function familyHostMemory(size: FamilySize, contextLength: number): HostMemory {
  const leastTokens = size.family === 'decoder' ? contextLength : batchTokens;
  const leastBytes = familyPeakBytes({ ...size, maxTokens: Math.min(size.maxTokens, leastTokens) });
  return { leastBytes, fullBytes: familyPeakBytes(size) };
}

function workBytes({
  family,
  config,
  maxTokens,
  pixels = 0,
}: Pick<FamilySize, 'family' | 'config' | 'maxTokens' | 'pixels'>): number {
  const numberOf = (...names: string[]): number => names.map((name) => config[name]).find(isSize) ?? 0;
  if (family === 'text-embedding' || family === 'cross-encoder') {
    const heads = numberOf('num_attention_heads', 'n_heads', 'num_heads', 'n_head');
    const hidden = numberOf('hidden_size', 'dim', 'd_model', 'n_embd');
    const inner = numberOf('intermediate_size', 'hidden_dim', 'n_inner') || 4 * hidden;
    const hasBias = config['position_embedding_type'] === 'alibi';
    return textBytes({ heads, hidden, inner, maxTokens, hasBias });
  }
  if (family === 'decoder') {
    const heads = numberOf('num_attention_heads', 'n_head');
    return (
      cacheCopies *
      floatBytes *
      maxTokens *
      keysPerToken({
        layers: numberOf('num_hidden_layers', 'n_layer'),
        heads: numberOf('num_key_value_heads') || heads,
        size: numberOf('head_dim') || numberOf('hidden_size', 'n_embd') / Math.max(1, heads),
      })
    );
  }
  if (family === 'whisper') {
    return recognitionBytes({
      heads: numberOf('encoder_attention_heads'),
      positions: numberOf('max_source_positions'),
      width: numberOf('d_model'),
      layers: numberOf('decoder_layers'),
      vocabulary: numberOf('vocab_size'),
    });
  }
  if (family === 'matting') return pixels * bytesPerMattePixel;
  return (measuredWork[family] ?? 0) * mebibyte;
}

/** Other values are the loader's to refuse. */
function isSize(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0;
}

function keysPerToken({ layers, heads, size }: { layers: number; heads: number; size: number }): number {
  return 2 * layers * heads * size;
}

/**
 * A batch of texts: inputs, queries, keys and values, the two ends of the layer behind them, and scores of attention. Linear
 * biases of the scores (ALiBi) are a tensor that all texts and layers share.
 */
function textBytes(text: {
  heads: number;
  hidden: number;
  inner: number;
  maxTokens: number;
  hasBias: boolean;
}): number {
  const tokens = Math.max(batchTokens, text.maxTokens);
  const values = tokens * (4 * text.hidden + 2 * text.inner);
  const scores = scoreTensors * text.heads * tokens * text.maxTokens;
  const biases = text.hasBias ? text.heads * text.maxTokens ** 2 : 0;
  return (values + scores + biases) * floatBytes * arenaFactor;
}

/**
 * A window of speech: scores of the encoder's attention, its keys and values for each layer of the decoder as the graph
 * returns them and as they are kept, and the table of tokens, which quantised decoders widen at every step.
 */
function recognitionBytes(speech: {
  heads: number;
  positions: number;
  width: number;
  layers: number;
  vocabulary: number;
}): number {
  const scores = scoreTensors * speech.heads * speech.positions ** 2;
  const keys = 2 * 2 * speech.layers * speech.positions * speech.width;
  return (scores + keys + speech.vocabulary * speech.width) * floatBytes * arenaFactor;
}
