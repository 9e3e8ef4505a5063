import { windowCachePositions } from '#platform/memory';
import type { ByteSource } from '../convert/byte-source.js';
import type { DecoderShape } from '../convert/decoder/decoder-shape.js';
import type { WeightFormat } from '../convert/conversion-options.js';
import { stretchedContext } from '../convert/decoder/read-rotary.js';
import { SourceDecoder } from '../convert/decoder/source-decoder.js';
import { GgufMetadata } from '../convert/gguf/gguf-metadata.js';
import { matrices, samePrecision, valuesOf } from '../convert/gguf/gguf-precision.js';
import { openGguf } from '../convert/gguf/gguf-shards.js';
import { ggufSource } from '../convert/gguf/gguf-source.js';
import type { GgufHeader } from '../convert/gguf/gguf-types.js';

/** What a GGUF file holds, by its header. */
export interface GgufDescription {
  architecture: string;
  /** `general.name`; null without one. */
  title: string | null;
  license: string | null;
  contextLength: number;
  /** What it can be stretched to. */
  maxContextLength: number;
  parameters: number;
  /** Types of the weights by share, the largest first: `Q4_K, Q6_K`. */
  stored: string;
  /** The weights' format of the same precision. */
  weights: WeightFormat;
  hasChatTemplate: boolean;
  /** Keys and values of one token in the layers that see the whole context. */
  cacheBytesPerToken: number;
  /** The same in layers with a window of `size` tokens; null without such layers. */
  windowCache: { size: number; bytesPerToken: number } | null;
  /** Values of the embeddings, and as many of the output layer, which is stored apart after the conversion. */
  vocabularyValues: number;
  /** The file stores embeddings and output layer as one. */
  tiedHead: boolean;
  /** Cosines and sines of the rotation of one position. */
  rotaryBytesPerToken: number;
}

/**
 * Reads the header only, a few MB at the beginning of the file or of each shard. Fails with `INVALID_MODEL` for what the converter would refuse too:
 * another architecture, missing or unknown tensors.
 */
export async function describeGguf(files: readonly ByteSource[]): Promise<GgufDescription> {
  const { file, header } = await openGguf(files);
  const source = ggufSource(file, header);
  const { shape } = SourceDecoder.open(source);
  const metadata = new GgufMetadata(file.name, header.metadata);
  return {
    architecture: metadata.text('general.architecture'),
    title: metadata.text('general.name', '') || null,
    license: metadata.text('general.license', '') || null,
    parameters: [...header.tensors.values()].reduce((sum, tensor) => sum + valuesOf(tensor), 0),
    stored: storedTypes(header),
    weights: samePrecision(header),
    hasChatTemplate: metadata.has('tokenizer.chat_template'),
    ...sizesOf(shape),
    maxContextLength: stretchedContext(source) ?? shape.contextLength,
  };
}

/** What a decoder takes beside its weights, and which of them count twice. */
export function sizesOf(shape: DecoderShape) {
  const window = shape.attention?.window;
  const windowed = window?.layers.filter(Boolean).length ?? 0;
  const bytesPerLayer = 2 * shape.keyValueHeads * shape.headSize * Float32Array.BYTES_PER_ELEMENT;
  return {
    contextLength: shape.contextLength,
    cacheBytesPerToken: (shape.layers - windowed) * bytesPerLayer,
    windowCache: window ? { size: window.size, bytesPerToken: windowed * bytesPerLayer } : null,
    vocabularyValues: shape.hiddenSize * shape.vocabularySize,
    tiedHead: shape.tiedHead,
    rotaryBytesPerToken: rotaryBytes(shape),
  };
}

const bytesPerValue: Record<WeightFormat, number> = { int4: 0.625, int8: 1.125, 'int8-channel': 1, float32: 4 };

/** Cosines and sines of the rotation of one position. Layers with a window may rotate in their own way. */
export function rotaryBytes({ rotary, attention }: DecoderShape): number {
  const window = attention?.window;
  const tables = window && window.rotary !== rotary ? 2 : 1;
  return tables * rotary.dimensions * Float32Array.BYTES_PER_ELEMENT;
}

/** Size of the converted files. Embeddings are stored in half precision, except beside weights in float32. */
export function convertedBytes(
  { parameters, vocabularyValues, tiedHead, rotaryBytesPerToken }: GgufDescription,
  { weights, contextLength }: { weights: WeightFormat; contextLength: number },
): number {
  const head = weights === 'int4' ? 'int8' : weights;
  const body = parameters - vocabularyValues * (tiedHead ? 1 : 2);
  const bytesPerEmbedding = weights === 'float32' ? 4 : 2;
  const vocabulary = vocabularyValues * (bytesPerEmbedding + bytesPerValue[head]);
  return Math.round(vocabulary + body * bytesPerValue[weights] + rotaryBytesPerToken * contextLength);
}

/** Memory for the keys and values of all rows, which have `tokens` positions together. */
export function cacheBytes(
  { cacheBytesPerToken, windowCache }: Pick<GgufDescription, 'cacheBytesPerToken' | 'windowCache'>,
  rows: { slots: number; tokens: number },
): number {
  const whole = cacheBytesPerToken * rows.tokens;
  return windowCache ? whole + windowCache.bytesPerToken * windowCachePositions(windowCache.size, rows) : whole;
}

function storedTypes(header: GgufHeader): string {
  const bytes = new Map<string, number>();
  for (const tensor of matrices(header)) {
    bytes.set(tensor.type.name, (bytes.get(tensor.type.name) ?? 0) + tensor.bytes);
  }
  return [...bytes.entries()]
    .sort(([, left], [, right]) => right - left)
    .map(([name]) => name)
    .join(', ');
}
