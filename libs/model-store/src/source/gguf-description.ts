import { productOf } from '#common/values';
import type { DecoderSize } from '#model-memory';
import { checkChatTemplate } from '../convert/chat-template.js';
import { defaultBlockSize } from '../convert/conversion-options.js';
import {
  attendingLayers,
  cacheTensors,
  cachingLayers,
  type DecoderShape,
  layerTableRows,
  stateTensors,
} from '../convert/decoder/decoder-shape.js';
import type { LinearFormat } from '../convert/decoder/linear-layer.js';
import { stretchedContext } from '../convert/decoder/read-rotary.js';
import { canShareTable } from '../convert/decoder/shared-table.js';
import { withImages } from '../convert/gguf.converter.js';
import { SourceDecoder } from '../convert/decoder/source-decoder.js';
import { GgufMetadata } from '../convert/gguf/gguf-metadata.js';
import {
  keepsValues,
  layerMatrices,
  layerTypes,
  matrices,
  storedEmbedding,
  storedFormat,
  storedHead,
  valuesOf,
} from '../convert/gguf/gguf-precision.js';
import type { OpenedGguf } from '../convert/gguf/gguf-shards.js';
import { readGgufTokenizer } from '../convert/gguf/gguf-tokenizer.js';
import type { GgufHeader, GgufType } from '../convert/gguf/gguf-types.js';
import { describeGgufPoolingModel, type PoolingModelDescription, type PoolingChoice } from './pooling-model.js';
import {
  addedBytesPerValue,
  bytesPerValue,
  type ConvertedFormats,
  countFormats,
  embeddingBytesPerValue,
  ownEmbeddingBytesPerValue,
} from './converted-formats.js';

/** What is known of the part that sees before a download. */
export interface VisionDescription {
  parameters: number;
  /** Members of the installed `config.json` beside those of the decoder. */
  config: Record<string, unknown>;
  /** Content of `preprocessor_config.json` and `processor_config.json`, of which the second wins. */
  preprocessor: Record<string, unknown>;
}

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
  /** Formats of the model in the precision of the file. */
  formats: ConvertedFormats;
  /** Types of the layers; empty: none of GGUF. */
  layerTypes: GgufType[];
  hasChatTemplate: boolean;
  /** Null for a model that writes text. */
  poolingModel: PoolingModelDescription | null;
  /** The part that reads images; null without one that is converted. */
  vision: VisionDescription | null;
  hiddenSize: number;
  /** Values of the widest layer, of one expert where there are experts. */
  innerSize: number;
  /** Keys and values of one token in the layers that see the whole context. */
  cacheBytesPerToken: number;
  /** The same in layers with a window of `size` tokens; null without such layers. */
  windowCache: { size: number; bytesPerToken: number } | null;
  /** State of one request in layers that do not attend; 0 without such layers. */
  stateBytes: number;
  /** Heads of the queries. */
  heads: number;
  vocabularySize: number;
  /** Values of the embeddings, and as many of the output layer, which is apart unless the formats share the table. */
  vocabularyValues: number;
  /** The output layer is the embeddings in the file. */
  isTied: boolean;
  /** Values of the layers. */
  layerValues: number;
  /** Of these, values of a table of their inputs, which has the type of the embeddings. */
  tableValues: number;
  /** Cosines and sines of the rotation of one position. */
  rotaryBytesPerToken: number;
}

/**
 * Describes a decoder by its header. Fails with `INVALID_MODEL` for what the converter would refuse too: another
 * architecture, missing or unknown tensors, unknown tokens.
 */
export function describeGguf(
  { file, header }: OpenedGguf,
  choice: PoolingChoice = {},
  projector: OpenedGguf | null = null,
): GgufDescription {
  const { source, vision } = withImages({ file, header }, projector);
  const metadata = new GgufMetadata(file.name, header.metadata);
  const dimensions = header.tensors.get('dense_3.weight')?.dimensions[1] ?? null;
  const poolingModel = describeGgufPoolingModel(metadata, { choice, dimensions });
  const { shape } = SourceDecoder.open(source, undefined, poolingModel?.purpose);
  const parameters = [...header.tensors.values()].reduce((sum, tensor) => sum + valuesOf(tensor), 0);
  const { tokenizerConfig } = readGgufTokenizer(metadata, shape.vocabularySize);
  if (poolingModel === null) checkChatTemplate(file.name, tokenizerConfig['chat_template']);
  return {
    architecture: metadata.text('general.architecture'),
    title: metadata.text('general.name', '') || null,
    license: metadata.text('general.license', '') || null,
    stored: storedTypes(header),
    formats: storedFormats(header, shape),
    layerTypes: layerTypes(header),
    hasChatTemplate: metadata.has('tokenizer.chat_template'),
    poolingModel,
    vision: vision && { parameters: vision.parameters, config: vision.config, preprocessor: vision.preprocessor },
    ...sizesOf(shape, parameters),
    maxContextLength: stretchedContext(source) ?? shape.contextLength,
  };
}

/** What a decoder takes beside its weights, and which of them count twice. */
export function sizesOf(shape: DecoderShape, parameters: number) {
  const window = shape.attention?.window;
  const caching = cachingLayers(shape);
  const bytesOf = (layers: number[]) => {
    const tensors = layers.flatMap((layer) => cacheTensors(shape, layer));
    return Float32Array.BYTES_PER_ELEMENT * tensors.reduce((sum, { heads, size }) => sum + heads * size, 0);
  };
  const vocabularyValues = shape.hiddenSize * shape.vocabularySize;
  return {
    parameters,
    layerValues: parameters - vocabularyValues * (shape.tiedHead ? 1 : 2),
    tableValues: tableValues(shape),
    isTied: shape.tiedHead && !shape.headless,
    contextLength: shape.contextLength,
    cacheBytesPerToken: bytesOf(caching.filter((layer) => !window?.layers[layer])),
    stateBytes: stateBytes(shape),
    windowCache: window
      ? { size: window.size, bytesPerToken: bytesOf(caching.filter((layer) => window.layers[layer])) }
      : null,
    heads: Math.max(shape.heads, shape.latent?.indexer?.heads ?? 0),
    hiddenSize: shape.hiddenSize,
    innerSize: shape.feedForward.size,
    vocabularySize: shape.vocabularySize,
    vocabularyValues,
    rotaryBytesPerToken: rotaryBytes(shape),
  };
}

function tableValues(shape: DecoderShape): number {
  return shape.layerInputs ? shape.layerInputs.size * shape.layers * layerTableRows(shape) : 0;
}

/** State of one request in the layers that do not attend. */
function stateBytes(shape: DecoderShape): number {
  const values = stateTensors(shape).map(({ dimensions }) => productOf(dimensions));
  return values.reduce((sum, count) => sum + count, 0) * Float32Array.BYTES_PER_ELEMENT;
}

/** Cosines and sines of the rotation of one position. Layers with a window may rotate in their own way, or none does. */
export function rotaryBytes(shape: DecoderShape): number {
  const { rotary, attention } = shape;
  if (attendingLayers(shape).every((layer) => attention?.unrotated?.[layer])) return 0;
  const window = attention?.window;
  const tables = window && window.rotary !== rotary ? 2 : 1;
  return tables * rotary.dimensions * Float32Array.BYTES_PER_ELEMENT;
}

/** Size of the converted files. */
export function convertedBytes(
  { vocabularyValues, rotaryBytesPerToken }: GgufDescription,
  formats: ConvertedFormats,
  contextLength: number,
): number {
  const vocabulary = vocabularyValues * (ownEmbeddingBytesPerValue(formats) + bytesPerValue(formats.head));
  return Math.round(vocabulary + layerBytes(formats, bytesPerValue) + rotaryBytesPerToken * contextLength);
}

/** The same of a model without an output layer; its layer for a score is no larger than a norm. */
export function poolingModelBytes(
  { vocabularyValues, rotaryBytesPerToken }: GgufDescription,
  formats: ConvertedFormats,
  contextLength: number,
): { files: number; mapped: number } {
  const mapped = Math.round(vocabularyValues * embeddingBytesPerValue(formats) + rotaryBytesPerToken * contextLength);
  return { files: Math.round(mapped + layerBytes(formats, bytesPerValue)), mapped };
}

/** Bytes that the layers take in memory beside those of the files. */
export function addedLayerBytes(formats: ConvertedFormats): number {
  return Math.round(layerBytes(formats, addedBytesPerValue));
}

function layerBytes({ layers }: ConvertedFormats, perValue: (format: LinearFormat) => number): number {
  return layers.reduce((sum, { format, values }) => sum + values * perValue(format), 0);
}

/** What the memory of the converted model depends on. */
export function decoderSize(found: GgufDescription, formats: ConvertedFormats, contextLength: number): DecoderSize {
  const { vocabularyValues, heads, vocabularySize, cacheBytesPerToken, windowCache, stateBytes } = found;
  const added = layerBytes(formats, addedBytesPerValue) + vocabularyValues * addedBytesPerValue(formats.head);
  // Embeddings and the tables of rotations are mapped, and few of their rows are read.
  const mapped = vocabularyValues * ownEmbeddingBytesPerValue(formats) + found.rotaryBytesPerToken * contextLength;
  return {
    weightsBytes: Math.round(convertedBytes(found, formats, contextLength) + added - mapped),
    largestBytes: Math.round(vocabularyValues * bytesPerValue(formats.head)),
    heads,
    vocabularySize,
    cacheBytesPerToken,
    windowCache,
    stateBytes,
  };
}

function storedFormats(header: GgufHeader, shape: DecoderShape): ConvertedFormats {
  const table = header.tensors.get('token_embd.weight');
  const head = header.tensors.get('output.weight') ?? table;
  if (!table || !head) throw new Error('The file has no embeddings.');
  const layers = layerMatrices(header).map((tensor) => {
    // The graph multiplies each head by its own part of the first ones, and scores with the last.
    const isFloat = shape.latent !== undefined && /\.(?:attn_(?:kv|k|v)_b|indexer\.proj)\.weight$/.test(tensor.name);
    const format: LinearFormat = isFloat ? { kind: 'float32' } : storedFormat(tensor.type, defaultBlockSize);
    return { format, values: valuesOf(tensor) };
  });
  const formats = {
    head: storedHead(head.type, defaultBlockSize, header),
    embedding: storedEmbedding(table.type),
  };
  const exact = keepsValues(table.type, formats.head);
  return {
    layers: countFormats([...layers, { format: { kind: formats.embedding }, values: tableValues(shape) }]),
    ...formats,
    sharesTable: canShareTable(shape, { ...formats, keepsValues: exact }),
  };
}

/** Types of the matrices by share, the largest first. */
export function storedTypes(header: GgufHeader): string {
  const bytes = new Map<string, number>();
  for (const tensor of matrices(header)) {
    bytes.set(tensor.type.name, (bytes.get(tensor.type.name) ?? 0) + tensor.bytes);
  }
  return [...bytes.entries()]
    .sort(([, left], [, right]) => right - left)
    .map(([name]) => name)
    .join(', ');
}
