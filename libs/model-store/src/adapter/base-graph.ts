import { decodeNode, type GraphNode, memoryAccess, readOnnxModel, type StoredTensor } from '../onnx/index.js';
import { invalidFile } from '../convert/invalid-file.js';

/** A linear layer of a base model that adapters may add to. */
export interface Projection {
  /** As in `weightNames`: `layers.0.query`. */
  name: string;
  inputs: number;
  outputs: number;
}

/** Where a projection stands in the graph. */
export interface ProjectionSite extends Projection {
  /** Value that the layer multiplies. */
  input: string;
  /** Value with the product, before any bias. */
  output: string;
  /** Index of the node that returns `output`. */
  node: number;
}

/** The graph of a base model, as our converters write it. */
export interface BaseGraph {
  /** The whole file. */
  bytes: Uint8Array;
  nodes: readonly Uint8Array[];
  /** By name. */
  sites: ReadonlyMap<string, ProjectionSite>;
}

/** Parts of a layer that adapters may change. */
export const adaptedParts = ['query', 'key', 'value', 'attention_output', 'gate', 'up', 'down'] as const;
export type AdaptedPart = (typeof adaptedParts)[number];

const weightPattern = new RegExp(`^layers\\.\\d+\\.(?:${adaptedParts.join('|')})(?:\\.codes)?$`);

/** Graphs of our converters keep large weights in another file. */
export const maxGraphBytes = 256 * 1024 * 1024;

/**
 * Finds the linear layers of a graph. Throws `INVALID_MODEL` for one that no converter of this project wrote in the
 * layout `split`.
 */
export async function readBaseGraph(bytes: Uint8Array, fileName: string): Promise<BaseGraph> {
  const model = await readOnnxModel(memoryAccess(bytes), { allowsExternal: true }).catch((error: unknown) => {
    if (error instanceof RangeError) throw invalidFile(fileName, error.message);
    throw error;
  });
  const nodes = await Promise.all(model.nodes.map(decodeNode));
  const weights = new Map(model.initializers.map((tensor) => [tensor.name, tensor]));
  const graph = new SiteFinder(nodes, weights);
  const sites = new Map<string, ProjectionSite>();
  for (const [index, node] of nodes.entries()) {
    const site = graph.siteOf(node, index);
    if (site) sites.set(site.name, site);
  }
  const isSplit = model.inputs.some(({ name }) => name === 'past_lens');
  if (sites.size === 0 || !isSplit) {
    throw invalidFile(
      fileName,
      'it is no decoder of the converters of Sluice in the layout `split`, which adapters need',
    );
  }
  return { bytes, nodes: model.nodes, sites };
}

/** Recognizes the products of the formats of linear layers. */
class SiteFinder {
  private readonly producers = new Map<string, GraphNode>();
  private readonly scaled = new Map<string, number>();

  constructor(
    private readonly nodes: readonly GraphNode[],
    private readonly weights: ReadonlyMap<string, StoredTensor>,
  ) {
    for (const [index, node] of nodes.entries()) {
      for (const output of node.outputs) this.producers.set(output, node);
      if (node.operator === 'Mul') this.scaled.set(node.inputs[0] ?? '', index);
    }
  }

  siteOf(node: GraphNode, index: number): ProjectionSite | null {
    const weight = node.inputs.find((input) => weightPattern.test(input));
    const tensor = weight === undefined ? undefined : this.weights.get(weight);
    if (weight === undefined || tensor === undefined) return null;
    const [input = ''] = node.inputs;
    const [output = ''] = node.outputs;
    const [inputs = 0, outputs = 0] = tensor.dimensions;
    const site = { name: weight.replace(/\.codes$/, ''), input, output, node: index };
    if (node.operator === 'MatMul') return { ...site, inputs, outputs };
    if (node.operator === 'MatMulNBits') {
      const { K: columns = 0, N: rows = 0 } = node.integers;
      return { ...site, inputs: columns, outputs: rows };
    }
    return node.operator === 'MatMulIntegerToFloat' ? this.channels({ ...site, inputs, outputs }) : null;
  }

  /** Inputs are quantised before the product of integers, and their scale is multiplied after it. */
  private channels(site: ProjectionSite): ProjectionSite | null {
    const codes = this.producers.get(site.input);
    const scaled = codes && this.producers.get(codes.inputs[0] ?? '');
    const node = this.scaled.get(site.output);
    const output = node === undefined ? undefined : this.nodes[node]?.outputs[0];
    const input = scaled?.inputs[0];
    if (node === undefined || output === undefined || input === undefined) return null;
    return { ...site, input, output, node };
  }
}
