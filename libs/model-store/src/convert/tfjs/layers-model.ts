import { basename, dirname, join } from 'node:path';
import { readFile } from 'node:fs/promises';
import { invalidFile } from '../invalid-file.js';
import { exportedLiteral } from './script-literal.js';

/*
 * A model in the layers format of TensorFlow.js: Keras topology in JSON, and weights in shards, plain or quantised to 8
 * or 16 bits. Tensors are channels last.
 */

export interface LayerConfig {
  name: string;
  activation?: string;
  strides?: number[];
  dilation_rate?: number[];
  padding?: string | number[][];
  pool_size?: number[];
  size?: number[];
  interpolation?: string;
  epsilon?: number;
  max_value?: number | null;
  batch_input_shape?: (number | null)[];
  [member: string]: unknown;
}

export interface Layer {
  className: string;
  name: string;
  config: LayerConfig;
  /** Names of its input layers. */
  inputs: string[];
}

export interface LayerWeight {
  shape: number[];
  data: Float32Array;
}

export interface LayersModel {
  layers: Layer[];
  outputLayer: string;
  /** Keyed by `<layer>/<weight>`. */
  weights: ReadonlyMap<string, LayerWeight>;
}

interface RawLayer {
  class_name: string;
  name?: string;
  config: LayerConfig;
  inbound_nodes?: [string, ...unknown[]][][];
}

interface RawWeight {
  name: string;
  shape: number[];
  dtype: string;
  quantization?: { dtype: 'uint8' | 'uint16'; min: number; scale: number };
}

interface RawModel {
  modelTopology: { model_config: { config: { layers: RawLayer[]; output_layers?: [string, ...unknown[]][] } } };
  weightsManifest: { paths: string[]; weights: RawWeight[] }[];
}

/** Reads `model.json`, or a script that exports the same, with its shards. `file` is relative to `folder`. */
export async function readLayersModel(folder: string, file: string): Promise<LayersModel> {
  const text = await readFile(join(folder, file), 'utf8');
  const raw = parse(file, text);
  const { layers, output_layers: outputs } = raw.modelTopology.model_config.config;
  const parsed = layers.map((layer, index) => toLayer(layer, layers[index - 1]));
  const outputLayer = outputs?.[0]?.[0] ?? parsed.at(-1)?.name ?? '';
  return { layers: parsed, outputLayer, weights: await readWeights(folder, file, raw) };
}

function parse(file: string, text: string): RawModel {
  const value = (file.endsWith('.js') ? exportedLiteral(file, text) : parseJson(file, text)) as Partial<RawModel>;
  if (!Array.isArray(value.modelTopology?.model_config?.config?.layers) || !Array.isArray(value.weightsManifest)) {
    throw invalidFile(file, 'it is not a layers model');
  }
  return value as RawModel;
}

function parseJson(file: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalidFile(file, 'it is not JSON');
  }
}

/** A sequential model names no inputs: each layer takes the one before it. */
function toLayer({ class_name: className, name, config, inbound_nodes: nodes }: RawLayer, before?: RawLayer): Layer {
  const inputs = nodes?.[0]?.map(([input]) => input) ?? (before ? [before.config.name] : []);
  return { className, name: name ?? config.name, config, inputs };
}

async function readWeights(folder: string, file: string, raw: RawModel): Promise<Map<string, LayerWeight>> {
  const shards = raw.weightsManifest.flatMap(({ paths }) => paths.map((path) => shardName(file, path)));
  const bytes = Buffer.concat(await Promise.all(shards.map((shard) => readShard(folder, shard))));
  const weights = new Map<string, LayerWeight>();
  let offset = 0;
  for (const weight of raw.weightsManifest.flatMap((group) => group.weights)) {
    const count = weight.shape.reduce((product, size) => product * size, 1);
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
  if (quantization === undefined && dtype === 'float32') return 4;
  throw invalidFile(file, `the weight ${name} has the unknown format ${quantization?.dtype ?? dtype}`);
}

function decode({ quantization }: RawWeight, bytes: Buffer): Float32Array {
  if (!quantization) return new Float32Array(Uint8Array.from(bytes).buffer);
  const { dtype, min, scale } = quantization;
  const codes = dtype === 'uint8' ? bytes : new Uint16Array(Uint8Array.from(bytes).buffer);
  return Float32Array.from(codes, (code) => code * scale + min);
}
