import { PlatformError } from '#common';
import { errorText } from '#common/values';
import {
  bytesOf,
  encodeInitializer,
  encodeInput,
  encodeNode,
  memoryAccess,
  type OnnxNode,
  ProtobufEncoder,
  readFields,
} from '../onnx/index.js';
import { readGraphOf } from './adapted-base.js';
import { type AdapterMatrices, readAdapter } from './adapter-file.js';
import type { BaseGraph, ProjectionSite } from './base-graph.js';

/** An adapter to compute with. */
export interface AdapterFolder {
  modelId: string;
  directory: string;
}

/** A base and its adapters as one graph. */
export interface AdaptedGraph {
  /** Encoded graph; its base's weights stay in their file. */
  model: Uint8Array;
  /** Adapters by model id: what `adapter_ids` calls them, from 1. */
  adapters: Map<string, number>;
  /** Adapters that do not fit, with the reason. */
  refused: { modelId: string; reason: string }[];
}

/** Input with the adapter of each row, int64 [batch]; 0: none. */
const adapterIdsInput = 'adapter_ids';

/** A protobuf message has at most 2 GiB. */
const maxAdapterBytes = 1.5 * 2 ** 30;

interface Loaded {
  modelId: string;
  matrices: ReadonlyMap<string, AdapterMatrices>;
}

/**
 * Adds low-rank products to the graph of a base. The matrices of all adapters of a projection stand side by side, as one
 * of the sum of their ranks, and a mask by row leaves those of the row's adapter: `y + ((x A) * mask) B`. Rows without an
 * adapter add zero.
 */
export async function addAdapters(
  { directory, graphFile }: { directory: string; graphFile: string },
  folders: readonly AdapterFolder[],
): Promise<AdaptedGraph> {
  const graph = await readGraphOf(directory, graphFile);
  const loaded: Loaded[] = [];
  const refused: AdaptedGraph['refused'] = [];
  let bytes = 0;
  for (const { modelId, directory: folder } of folders) {
    try {
      const matrices = await readAdapter(folder);
      bytes += checkFit(graph, matrices, bytes);
      loaded.push({ modelId, matrices });
    } catch (error) {
      refused.push({ modelId, reason: errorText(error) });
    }
  }
  const adapters = new Map(loaded.map(({ modelId }, index) => [modelId, index + 1]));
  const model = loaded.length === 0 ? graph.bytes : await new AdapterInserter(graph, loaded).insert();
  return { model, adapters, refused };
}

/** Returns the size of the matrices. */
function checkFit({ sites }: BaseGraph, matrices: ReadonlyMap<string, AdapterMatrices>, before: number): number {
  let bytes = 0;
  for (const { name, inputs, outputs, a, b } of matrices.values()) {
    const site = sites.get(name);
    if (site?.inputs !== inputs || site.outputs !== outputs) {
      throw new PlatformError('INVALID_MODEL', `Its ${name} does not fit the base, which was installed again since.`);
    }
    bytes += a.byteLength + b.byteLength;
  }
  if (before + bytes <= maxAdapterBytes) return bytes;
  throw new PlatformError('INVALID_MODEL', 'The adapters of its base together exceed 1.5 GiB.');
}

const graphField = 7;
const graphFields = { node: 1, initializer: 5, input: 11 } as const;
const outputField = 2;
const axes = 'adapter.axes';

class AdapterInserter {
  private readonly added = new ProtobufEncoder();
  /** Masks by the adapters and ranks that they tell apart. */
  private readonly masks = new Map<string, string>();
  private readonly maskNodes: OnnxNode[] = [];
  private count = 0;

  constructor(
    private readonly graph: BaseGraph,
    private readonly adapters: readonly Loaded[],
  ) {
    this.constant(axes, 'int64', [1], BigInt64Array.of(1n));
    this.added.bytes(graphFields.input, encodeInput({ name: adapterIdsInput, type: 'int64', dimensions: ['batch'] }));
  }

  async insert(): Promise<Uint8Array> {
    const { bytes } = this.graph;
    const model = new ProtobufEncoder();
    for await (const field of readFields(memoryAccess(bytes))) {
      const content = bytes.subarray(field.start, field.start + field.length);
      if (field.number === graphField) model.message(graphField, await this.changeGraph(content));
      else if (field.wire === 0) model.integer(field.number, field.value);
      else model.bytes(field.number, content);
    }
    return model.finish();
  }

  private async changeGraph(encoded: Uint8Array): Promise<ProtobufEncoder> {
    const nodes = await this.changeNodes();
    const graph = new ProtobufEncoder();
    for (const node of [...this.maskNodes.map((node) => this.encode(node)), ...nodes])
      graph.bytes(graphFields.node, node);
    for await (const field of readFields(memoryAccess(encoded))) {
      if (field.number === graphFields.node) continue;
      graph.bytes(field.number, encoded.subarray(field.start, field.start + field.length));
    }
    return graph.append(this.added);
  }

  private async changeNodes(): Promise<Uint8Array[]> {
    const byNode = new Map([...this.graph.sites.values()].map((site) => [site.node, site]));
    const nodes: Uint8Array[] = [];
    for (const [index, node] of this.graph.nodes.entries()) {
      const site = byNode.get(index);
      const product = site && this.productOf(site);
      if (!site || !product) nodes.push(node);
      else nodes.push(await renameOutput(node, site.output, baseOf(site)), ...product);
    }
    return nodes;
  }

  /** Returns the nodes that add to a projection; null if no adapter changes it. */
  private productOf(site: ProjectionSite): Uint8Array[] | null {
    const { name, inputs, outputs, input, output } = site;
    const found = this.adapters.map(({ matrices }) => matrices.get(name));
    const ranks = found.map((matrices) => matrices?.rank ?? 0);
    const rank = ranks.reduce((sum, one) => sum + one, 0);
    if (rank === 0) return null;
    const a = `adapter.${name}.a`;
    const b = `adapter.${name}.b`;
    this.constant(a, 'float32', [inputs, rank], sideBySide(found, inputs, rank));
    this.constant(b, 'float32', [rank, outputs], oneAfterTheOther(found, outputs, rank));
    const value = (part: string) => `adapter.${name}.${part}`;
    return [
      standard('MatMul', [input, a], value('narrow')),
      standard('Mul', [value('narrow'), this.maskOf(ranks)], value('masked')),
      standard('MatMul', [value('masked'), b], value('wide')),
      standard('Add', [baseOf(site), value('wide')], output),
    ].map((node) => this.encode(node));
  }

  /** Returns a value `[batch, 1, rank]`: ones where the columns of a row's adapter are. */
  private maskOf(ranks: readonly number[]): string {
    const key = ranks.join();
    const known = this.masks.get(key);
    if (known !== undefined) return known;
    const mask = `adapter.mask.${this.masks.size}`;
    this.masks.set(key, mask);
    const rank = ranks.reduce((sum, one) => sum + one, 0);
    const table = new Float32Array((ranks.length + 1) * rank);
    let from = 0;
    for (const [index, adapterRank] of ranks.entries()) {
      table.fill(1, (index + 1) * rank + from, (index + 1) * rank + from + adapterRank);
      from += adapterRank;
    }
    this.constant(`${mask}.table`, 'float32', [ranks.length + 1, rank], table);
    this.maskNodes.push(
      standard('Gather', [`${mask}.table`, adapterIdsInput], `${mask}.rows`),
      standard('Unsqueeze', [`${mask}.rows`, axes], mask),
    );
    return mask;
  }

  private encode(node: OnnxNode): Uint8Array {
    return encodeNode(node, `adapter-${this.count++}`).finish();
  }

  private constant(name: string, type: 'float32' | 'int64', dimensions: number[], values: ArrayBufferView): void {
    this.added.message(graphFields.initializer, encodeInitializer({ name, type, dimensions }, bytesOf(values)));
  }
}

function baseOf({ name }: ProjectionSite): string {
  return `adapter.${name}.base`;
}

function standard(operator: string, inputs: string[], output: string): OnnxNode {
  return { operator, domain: '', inputs, outputs: [output], attributes: {} };
}

async function renameOutput(node: Uint8Array, from: string, to: string): Promise<Uint8Array> {
  const renamed = new ProtobufEncoder();
  for await (const field of readFields(memoryAccess(node))) {
    const content = node.subarray(field.start, field.start + field.length);
    if (field.number === outputField && Buffer.from(content).toString('utf8') === from) renamed.text(field.number, to);
    else renamed.bytes(field.number, content);
  }
  return renamed.finish();
}

type Found = readonly (AdapterMatrices | undefined)[];

/** First matrices `[inputs, rank]` as one whose columns are all of theirs. */
function sideBySide(found: Found, inputs: number, rank: number): Float32Array {
  const joined = new Float32Array(inputs * rank);
  let from = 0;
  for (const matrices of found) {
    if (!matrices) continue;
    for (let row = 0; row < inputs; row++) {
      joined.set(matrices.a.subarray(row * matrices.rank, (row + 1) * matrices.rank), row * rank + from);
    }
    from += matrices.rank;
  }
  return joined;
}

/** Second matrices `[rank, outputs]` as one whose rows are all of theirs. */
function oneAfterTheOther(found: Found, outputs: number, rank: number): Float32Array {
  const joined = new Float32Array(rank * outputs);
  let from = 0;
  for (const matrices of found) {
    if (!matrices) continue;
    joined.set(matrices.b, from * outputs);
    from += matrices.rank;
  }
  return joined;
}
