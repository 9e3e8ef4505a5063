import { decodeValue, type GraphNode } from '../onnx/index.js';
import type { EditedGraph } from './edited-graph.js';
import { groupQueryKernel } from './group-query-kernel.js';

/** Tables of cosines and sines, and how pairs lie in a head. */
export interface Rotation {
  cosines: string;
  sines: string;
  interleaved: number;
}

/** What attention computes beyond products, softmax and the mask of later tokens. */
interface AttentionExtras {
  /** Tokens that a token sees, itself included; null: all before it. */
  window: number | null;
  softCap: number | null;
  /** A weight with a score per head; null: none. */
  sinks: string | null;
}

/** Attention of one layer, as the split graph computes it. */
export interface SplitAttention extends AttentionExtras {
  layer: number;
  /** Values `[batch, sequence, heads * head_dim]` that the operator takes. */
  query: string;
  key: string;
  value: string;
  /** Rotation of queries and keys by the operator; null: they come as the cache has them. */
  rotation: Rotation | null;
  heads: number;
  keyValueHeads: number;
  headSize: number;
  /** Of the products of queries and keys. */
  scale: number;
  /** The node that returns the joined heads. */
  end: GraphNode;
}

interface SplitHeads {
  input: string;
  heads: number;
  size: number;
}

/** Returns the attention of a layer; null for a form that is not read here. */
export async function readSplitAttention(graph: EditedGraph, layer: number): Promise<SplitAttention | null> {
  const newKeyValues = graph.producer('new_kv')?.inputs ?? [];
  const key = await headsOf(graph, unsqueezed(graph, newKeyValues[2 * layer]));
  const value = await headsOf(graph, unsqueezed(graph, newKeyValues[2 * layer + 1]));
  const products = graph.consumers(pastName(layer, 'key'));
  // Several products are those of layers that share keys.
  const product = only(products.filter(({ operator }) => operator === 'FusedMatMul'));
  const grouped = graph.producer(product?.inputs[0]);
  const query = grouped?.operator === 'Reshape' ? await headsOf(graph, grouped.inputs[0]) : null;
  const scores = product === undefined ? null : await readScores(graph, product, layer);
  if (key === null || value === null || query === null || scores === null) return null;
  const { softmax, ...extras } = scores;
  const end = endOf(graph, softmax, layer, extras.sinks === null ? 2 : 3);
  if (end === null) return null;
  const places = await rotatedPlaces(graph, query.input, key.input);
  const heads = { heads: query.heads, keyValueHeads: key.heads, headSize: key.size };
  return { layer, value: value.input, ...places, ...heads, ...extras, end };
}

export function pastName(layer: number, part: 'key' | 'value'): string {
  return `past_key_values.${layer}.${part}`;
}

/** Follows scores from the product with the keys of the past to their softmax. */
async function readScores(
  graph: EditedGraph,
  product: GraphNode,
  layer: number,
): Promise<(AttentionExtras & { softmax: GraphNode }) | null> {
  let node = only(graph.consumers(product.outputs[0]));
  if (node?.operator !== 'Concat') return null;
  let column = node.inputs[2];
  node = only(graph.consumers(node.outputs[0]));
  let softCap: number | null = null;
  if (node?.operator === 'Mul') {
    const tanh = only(graph.consumers(node.outputs[0]));
    const capped = tanh?.operator === 'Tanh' ? only(graph.consumers(tanh.outputs[0])) : undefined;
    softCap = capped?.operator === 'Mul' ? await graph.floatOf(capped.inputs[1]) : null;
    if (softCap === null) return null;
    node = only(graph.consumers(capped?.outputs[0]));
    if (node?.operator === 'Concat') {
      column = node.inputs[1];
      node = only(graph.consumers(node.outputs[0]));
    }
  }
  if (node?.operator !== 'Add') return null;
  const softmax = only(graph.consumers(node.outputs[0]));
  const sinks = column === undefined ? null : sinksOf(graph, column);
  const window = await windowOf(graph, layer);
  if (softmax?.operator !== 'Softmax' || (column !== undefined && sinks === null)) return null;
  if (window !== null && isOfChunks(graph, node.inputs[1])) return null;
  return { softmax, softCap, sinks, window };
}

/** The weight behind a column of scores, which is spread over the rows. */
function sinksOf(graph: EditedGraph, column: string): string | null {
  let value = column;
  for (const operator of ['Reshape', 'Expand', 'Reshape']) {
    const node = graph.producer(value);
    if (node?.operator !== operator) return null;
    [value = ''] = node.inputs;
  }
  return graph.weight(value)?.dimensions.length === 1 ? value : null;
}

/** The name of a dimension says it. */
async function windowOf(graph: EditedGraph, layer: number): Promise<number | null> {
  const input = graph.inputs.get(pastName(layer, 'key'));
  const capacity = input === undefined ? '' : (await decodeValue(input)).dimensions[2];
  const size = /^window_(\d+)$/.exec(String(capacity))?.[1];
  return size === undefined ? null : Number(size);
}

/** Whether a mask is that of chunks of the text, whose borders are found by a division. */
function isOfChunks(graph: EditedGraph, mask: string | undefined): boolean {
  const seen = new Set<string>();
  const open = [mask ?? ''];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const node = graph.producer(name);
    if (node === undefined || seen.has(name)) continue;
    if (node.operator === 'Div') return true;
    seen.add(name);
    open.push(...node.inputs);
  }
  return false;
}

/** Follows attention from its weights to the joined heads. */
function endOf(graph: EditedGraph, softmax: GraphNode, layer: number, parts: number): GraphNode | null {
  const split = only(graph.consumers(softmax.outputs[0]));
  if (split?.operator !== 'Split' || split.outputs.length !== parts) return null;
  let node = only(graph.consumers(split.outputs[0]));
  if (node?.operator !== 'MatMul' || node.inputs[1] !== pastName(layer, 'value')) return null;
  for (const operator of ['Add', 'Reshape', 'Transpose', 'Reshape']) {
    node = only(graph.consumers(node?.outputs[0]));
    if (node?.operator !== operator) return null;
  }
  return node ?? null;
}

/**
 * Where queries and keys are taken: before their rotation if the operator rotates them, otherwise as the products have
 * them, with nothing left to do.
 */
async function rotatedPlaces(
  graph: EditedGraph,
  query: string,
  key: string,
): Promise<Pick<SplitAttention, 'query' | 'key' | 'rotation' | 'scale'>> {
  const asTheyAre = { query, key, rotation: null, scale: 1 };
  const [ofQuery, ofKey] = [rotationOf(graph, query), rotationOf(graph, key)];
  const scaled = graph.producer(ofQuery?.input);
  const scale = scaled?.operator === 'Mul' ? await graph.floatOf(scaled.inputs[1]) : null;
  if (ofQuery === null || ofKey === null || scale === null) return asTheyAre;
  const { input: _, ...rotation } = ofQuery;
  const pairs = graph.weight(rotation.cosines)?.dimensions[1] ?? 0;
  const isSame = (['cosines', 'sines', 'interleaved'] as const).every((part) => ofKey[part] === rotation[part]);
  if (!isSame || pairs === 0 || pairs % groupQueryKernel.rotatedPairs !== 0) return asTheyAre;
  return { query: scaled?.inputs[0] ?? '', key: ofKey.input, rotation, scale };
}

function rotationOf(graph: EditedGraph, value: string): (Rotation & { input: string }) | null {
  const node = graph.producer(value);
  if (node?.operator !== 'RotaryEmbedding') return null;
  const [input = '', , cosines = '', sines = ''] = node.inputs;
  return { input, cosines, sines, interleaved: node.integers['interleaved'] ?? 0 };
}

/** The value whose heads are split, `[batch, sequence, heads * head_dim]`, with their number and size. */
async function headsOf(graph: EditedGraph, value: string | null | undefined): Promise<SplitHeads | null> {
  const transposed = graph.producer(value ?? '');
  const reshaped = graph.producer(transposed?.inputs[0]);
  if (transposed?.operator !== 'Transpose' || reshaped?.operator !== 'Reshape') return null;
  const [input = '', shape] = reshaped.inputs;
  const [, , heads = 0, size = 0] = (await graph.integersOf(shape)) ?? [];
  return heads > 0 && size > 0 ? { input, heads, size } : null;
}

function unsqueezed(graph: EditedGraph, value: string | undefined): string | null {
  const node = graph.producer(value);
  return node?.operator === 'Unsqueeze' ? (node.inputs[0] ?? null) : null;
}

/** Returns the only node of a list; undefined where there are none or several. */
export function only(nodes: readonly GraphNode[]): GraphNode | undefined {
  return nodes.length === 1 ? nodes[0] : undefined;
}
