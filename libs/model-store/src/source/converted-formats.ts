import { addedBlockBytes } from '#model-memory';
import { defaultBlockSize, linearFormat, type WeightFormat } from '../convert/conversion-options.js';
import type { LinearFormat } from '../convert/decoder/linear-layer.js';

/** Formats of the matrices of a converted model. */
export interface ConvertedFormats {
  /** Of the layers, and the number of values in each. */
  layers: readonly { format: LinearFormat; values: number }[];
  /** Of the output layer. */
  head: LinearFormat;
  embedding: 'float32' | 'float16';
  /** The output layer is the embedding table too, in its own format. */
  sharesTable: boolean;
}

/** The formats of a model whose layers have `layerValues` values, in one precision but for the table of their inputs. */
export function uniformFormats(
  weights: WeightFormat,
  { layerValues, tableValues, isTied }: { layerValues: number; tableValues: number; isTied: boolean },
): ConvertedFormats {
  const embedding = weights === 'float32' ? 'float32' : 'float16';
  return {
    layers: countFormats([
      { format: linearFormat(weights, defaultBlockSize), values: layerValues - tableValues },
      { format: { kind: embedding }, values: tableValues },
    ]),
    head: linearFormat(weights === 'int4' ? 'int8' : weights, defaultBlockSize),
    embedding,
    sharesTable: isTied && weights === 'float32',
  };
}

/** Adds up the values of each format, those of the most values first. */
export function countFormats(matrices: readonly { format: LinearFormat; values: number }[]) {
  const layers = new Map<string, { format: LinearFormat; values: number }>();
  for (const { format, values } of matrices) {
    if (values === 0) continue;
    const key = JSON.stringify(format);
    layers.set(key, { format, values: values + (layers.get(key)?.values ?? 0) });
  }
  return [...layers.values()].sort((left, right) => right.values - left.values);
}

/** Returns the precisions of layers and output layer, that of the most values first. */
export function precisionsOf({ layers, head }: ConvertedFormats): string[] {
  return [...new Set([...layers.map(({ format }) => format), head].map(precisionName))];
}

/** Returns the name of a format without its blocks. */
export function precisionName(format: LinearFormat): WeightFormat | 'float16' {
  if (format.kind === 'blocks') return format.bits === 4 ? 'int4' : 'int8';
  return format.kind === 'channels' ? 'int8-channel' : format.kind;
}

/** Bytes of a value in the files, with its share of scale and offset. */
export function bytesPerValue(format: LinearFormat): number {
  if (format.kind === 'blocks') {
    const numbers = format.hasOffset ? 2 : 1;
    return format.bits / 8 + (numbers * Float32Array.BYTES_PER_ELEMENT) / format.blockSize;
  }
  return { channels: 1, float16: 2, float32: 4 }[format.kind];
}

/** Bytes that a value takes in memory beside those of the file. */
export function addedBytesPerValue(format: LinearFormat): number {
  return format.kind === 'blocks' ? addedBlockBytes / format.blockSize : 0;
}

/** Of the embedding table. */
export function embeddingBytesPerValue({ embedding }: ConvertedFormats): number {
  return bytesPerValue({ kind: embedding });
}

/** The same beside an output layer; 0 where both are one table, which has the format of the output layer. */
export function ownEmbeddingBytesPerValue(formats: ConvertedFormats): number {
  return formats.sharesTable ? 0 : embeddingBytesPerValue(formats);
}
