import { join } from 'node:path';
import { readFile } from 'node:fs/promises';
import { invalidFile } from '../invalid-file.js';
import { exportedLiteral } from './script-literal.js';
import { readWeights, type TfjsWeight, type WeightsManifest } from './tfjs-weights.js';

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

export interface LayersModel {
  layers: Layer[];
  outputLayer: string;
  /** Keyed by `<layer>/<weight>`. */
  weights: ReadonlyMap<string, TfjsWeight>;
}

interface RawLayer {
  class_name: string;
  name?: string;
  config: LayerConfig;
  inbound_nodes?: [string, ...unknown[]][][];
}

interface RawModel {
  modelTopology: { model_config: { config: { layers: RawLayer[]; output_layers?: [string, ...unknown[]][] } } };
  weightsManifest: WeightsManifest;
}

/** Reads `model.json`, or a script that exports the same, with its shards. `file` is relative to `folder`. */
export async function readLayersModel(folder: string, file: string): Promise<LayersModel> {
  const text = await readFile(join(folder, file), 'utf8');
  const raw = parse(file, text);
  const { layers, output_layers: outputs } = raw.modelTopology.model_config.config;
  const parsed = layers.map((layer, index) => toLayer(layer, layers[index - 1]));
  const outputLayer = outputs?.[0]?.[0] ?? parsed.at(-1)?.name ?? '';
  return { layers: parsed, outputLayer, weights: await readWeights(folder, file, raw.weightsManifest) };
}

function parse(file: string, text: string): RawModel {
  const value = (file.endsWith('.js') ? exportedLiteral(file, text) : parseJson(file, text)) as Partial<RawModel>;
  if (!Array.isArray(value.modelTopology?.model_config?.config?.layers) || !Array.isArray(value.weightsManifest)) {
    throw invalidFile(file, 'it is not a layers model');
  }
  return value as RawModel;
}

export function parseJson(file: string, text: string): unknown {
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
