import { basename, dirname, join } from 'node:path';
import { readFile } from 'node:fs/promises';
import { productOf } from '#common/values';
import { invalidFile } from '../invalid-file.js';
import { exportedLiteral } from './script-literal.js';

/** A weight of a model in a format of TensorFlow.js; whole numbers are floats too. */
export interface TfjsWeight {
  shape: number[];
  data: Float32Array;
}

interface RawWeight {
  name: string;
  shape: number[];
  dtype: string;
  quantization?: { dtype: 'uint8' | 'uint16'; min: number; scale: number };
}

/** `weightsManifest` of a model file. */
export type WeightsManifest = readonly { paths: string[]; weights: RawWeight[] }[];

/** Reads the shards of the model file `file` in `folder`. */
export async function readWeights(
  folder: string,
  file: string,
  manifest: WeightsManifest,
): Promise<Map<string, TfjsWeight>> {
  const shards = manifest.flatMap(({ paths }) => paths.map((path) => shardName(file, path)));
  const bytes = Buffer.concat(await Promise.all(shards.map((shard) => readShard(folder, shard))));
  const weights = new Map<string, TfjsWeight>();
  let offset = 0;
  for (const weight of manifest.flatMap((group) => group.weights)) {
    const count = productOf(weight.shape);
    const length = count * bytesPerValue(file, weight);
    if (offset + length > bytes.length) throw invalidFile(file, `its shards end before the weight ${weight.name}`);
    weights.set(weight.name, { shape: weight.shape, data: decode(weight, bytes.subarray(offset, offset + length)) });
    offset += length;
  }
  return weights;
}

/**
 * Returns a shard's file name; a model in a script has its shards in scripts too: `group1-shard1of1` is
 * `group1-shard1of1.min.js`.
 */
function shardName(file: string, path: string): string {
  const name = file.endsWith('.js') ? `${basename(path, '.bin')}.min.js` : path;
  return join(dirname(file), name);
}

async function readShard(folder: string, shard: string): Promise<Buffer> {
  const bytes = await readFile(join(folder, shard)).catch(() => {
    throw invalidFile(shard, 'it is missing');
  });
  if (!shard.endsWith('.js')) return bytes;
  const text = exportedLiteral(shard, bytes.toString('utf8'));
  if (typeof text !== 'string') throw invalidFile(shard, 'it does not hold weights in base64');
  return Buffer.from(text, 'base64');
}

function bytesPerValue(file: string, { name, dtype, quantization }: RawWeight): number {
  if (quantization?.dtype === 'uint8') return 1;
  if (quantization?.dtype === 'uint16') return 2;
  if (quantization === undefined && (dtype === 'float32' || dtype === 'int32')) return 4;
  throw invalidFile(file, `the weight ${name} has the unknown format ${quantization?.dtype ?? dtype}`);
}

function decode({ dtype: type, quantization }: RawWeight, bytes: Buffer): Float32Array {
  if (!quantization) {
    const { buffer } = Uint8Array.from(bytes);
    return type === 'int32' ? Float32Array.from(new Int32Array(buffer)) : new Float32Array(buffer);
  }
  const { dtype, min, scale } = quantization;
  const codes = dtype === 'uint8' ? bytes : new Uint16Array(Uint8Array.from(bytes).buffer);
  return Float32Array.from(codes, (code) => code * scale + min);
}
