import { addedBlockBytes, type DecoderSize } from '#platform/memory';
import type { ByteSource } from '../convert/byte-source.js';
import { checkChatTemplate } from '../convert/chat-template.js';
import type { DecoderShape } from '../convert/decoder/decoder-shape.js';
import type { WeightFormat } from '../convert/conversion-options.js';
import { stretchedContext } from '../convert/decoder/read-rotary.js';
import { SourceDecoder } from '../convert/decoder/source-decoder.js';
import { GgufMetadata } from '../convert/gguf/gguf-metadata.js';
import { layerTypes, matrices, samePrecision, valuesOf } from '../convert/gguf/gguf-precision.js';
import { openGguf } from '../convert/gguf/gguf-shards.js';
import { ggufSource } from '../convert/gguf/gguf-source.js';
import { readGgufTokenizer } from '../convert/gguf/gguf-tokenizer.js';
import type { GgufHeader, GgufType } from '../convert/gguf/gguf-types.js';

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
  /** Types of the layers; empty: none of GGUF. */
  layerTypes: GgufType[];
  hasChatTemplate: boolean;
  /** Keys and values of one token in the layers that see the whole context. */
  cacheBytesPerToken: number;
  /** The same in layers with a window of `size` tokens; null without such layers. */
  windowCache: { size: number; bytesPerToken: number } | null;
  /** Heads of the queries. */
  heads: number;
  vocabularySize: number;
  /** Values of the embeddings, and as many of the output layer, which is stored apart after the conversion. */
  vocabularyValues: number;
  /** The file stores embeddings and output layer as one. */
  tiedHead: boolean;
  /** Cosines and sines of the rotation of one position. */
  rotaryBytesPerToken: number;
}

/**
 * Reads the header only, a few MB at the beginning of the file or of each shard. Fails with `INVALID_MODEL` for what the converter would refuse too:
 * another architecture, missing or unknown tensors, unknown tokens.
 */
export async function describeGguf(files: readonly ByteSource[]): Promise<GgufDescription> {
  const { file, header } = await openGguf(files);
  const source = ggufSource(file, header);
  const { shape } = SourceDecoder.open(source);
  const metadata = new GgufMetadata(file.name, header.metadata);
  const { tokenizerConfig } = readGgufTokenizer(metadata, shape.vocabularySize);
  checkChatTemplate(file.name, tokenizerConfig['chat_template']);
  return {
    architecture: metadata.text('general.architecture'),
    title: metadata.text('general.name', '') || null,
    license: metadata.text('general.license', '') || null,
    parameters: [...header.tensors.values()].reduce((sum, tensor) => sum + valuesOf(tensor), 0),
    stored: storedTypes(header),
    weights: samePrecision(header),
    layerTypes: layerTypes(header),
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
    heads: shape.heads,
    vocabularySize: shape.vocabularySize,
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

/** Embeddings are stored in half precision, except beside weights in float32. */
function embeddingBytes(weights: WeightFormat): number {
  return weights === 'float32' ? 4 : 2;
}

/** Size of the converted files. */
export function convertedBytes(
  { parameters, vocabularyValues, tiedHead, rotaryBytesPerToken }: GgufDescription,
  { weights, contextLength }: { weights: WeightFormat; contextLength: number },
): number {
  const head = weights === 'int4' ? 'int8' : weights;
  const body = parameters - vocabularyValues * (tiedHead ? 1 : 2);
  const vocabulary = vocabularyValues * (embeddingBytes(weights) + bytesPerValue[head]);
  return Math.round(vocabulary + body * bytesPerValue[weights] + rotaryBytesPerToken * contextLength);
}

/** Bytes that a weight takes in memory beside those of the file: blocks have 32. */
const addedBytesPerValue: Record<WeightFormat, number> = {
  int4: addedBlockBytes / 32,
  int8: addedBlockBytes / 32,
  'int8-channel': 0,
  float32: 0,
};

/** What the memory of the converted model depends on; `storedBytes` are those of its files. */
export function decoderSize(
  found: GgufDescription,
  { weights, storedBytes, contextLength }: { weights: WeightFormat; storedBytes: number; contextLength: number },
): DecoderSize {
  const { parameters, vocabularyValues, tiedHead, heads, vocabularySize, cacheBytesPerToken, windowCache } = found;
  const head = weights === 'int4' ? 'int8' : weights;
  const body = parameters - vocabularyValues * (tiedHead ? 1 : 2);
  const added = body * addedBytesPerValue[weights] + vocabularyValues * addedBytesPerValue[head];
  // Embeddings and the tables of rotations are mapped, and few of their rows are read.
  const mapped = vocabularyValues * embeddingBytes(weights) + found.rotaryBytesPerToken * contextLength;
  return {
    weightsBytes: Math.round(storedBytes + added - mapped),
    largestBytes: Math.round(vocabularyValues * bytesPerValue[head]),
    heads,
    vocabularySize,
    cacheBytesPerToken,
    windowCache,
  };
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
