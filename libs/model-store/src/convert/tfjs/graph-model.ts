import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { invalidFile } from '../invalid-file.js';
import { parseJson } from './layers-model.js';
import { readWeights, type TfjsWeight, type WeightsManifest } from './tfjs-weights.js';

/*
 * A model in the graph format of TensorFlow.js: nodes of TensorFlow in JSON, and weights in shards. Tensors are channels
 * last.
 */

/** Attribute of a node, of the kinds that are read here; texts are lists of character codes. */
interface Attribute {
  s?: number[];
  f?: number;
  b?: boolean;
  list?: { i?: string[] };
}

export interface GraphNode {
  name: string;
  op: string;
  /** Names of nodes; `name:1` is the second output of one. */
  input?: string[];
  attr?: Partial<Record<string, Attribute>>;
}

export interface GraphModel {
  nodes: ReadonlyMap<string, GraphNode>;
  /** Keyed by the name of their node. */
  weights: ReadonlyMap<string, TfjsWeight>;
}

interface RawModel {
  modelTopology?: { node?: GraphNode[] };
  weightsManifest?: WeightsManifest;
}

/** Reads a model file with its shards. `file` is relative to `folder`. */
export async function readGraphModel(folder: string, file: string): Promise<GraphModel> {
  const text = await readFile(join(folder, file), 'utf8').catch(() => {
    throw invalidFile(file, 'it is missing');
  });
  const raw = parseJson(file, text) as RawModel;
  const nodes = raw.modelTopology?.node;
  if (!Array.isArray(nodes) || !Array.isArray(raw.weightsManifest)) throw invalidFile(file, 'it is not a graph model');
  return {
    nodes: new Map(nodes.map((node) => [node.name, node])),
    weights: await readWeights(folder, file, raw.weightsManifest as WeightsManifest),
  };
}

export function textOf(node: GraphNode, name: string): string {
  return String.fromCodePoint(...(node.attr?.[name]?.s ?? []));
}

export function integersOf(node: GraphNode, name: string): number[] {
  return (node.attr?.[name]?.list?.i ?? []).map(Number);
}
