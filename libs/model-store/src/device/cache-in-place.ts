import { contribDomain } from '../onnx/onnx-types.js';
import type { GraphNode } from '../onnx/index.js';
import type { EditedGraph } from './edited-graph.js';

/**
 * What the operator's kernels take of what the split graph may have, on every provider here (`group-query.int-spec.ts`). They have
 * attributes for windows, caps and sinks as well, which wait for a graph that uses them.
 */
export const groupQueryKernel = {
  /** Pairs of a head that rotate are a multiple of this. */
  rotatedPairs: 8,
} as const;

/** Inputs of the graph with its cache in place, beside those that it keeps. */
const lastKeys = 'seqlens_k';
const totalLength = 'total_length';

const pastKeyPattern = /^past_key_values\.(\d+)\.key$/;
const otherPasts = /^(?:past_states\.|window_starts$|media$)|\.latent$/;

/** One layer, as the split graph computes it. */
interface Attention {
  layer: number;
  query: string;
  key: string;
  value: string;
  cosines: string;
  sines: string;
  interleaved: number;
  heads: number;
  keyValueHeads: number;
  scale: number;
  /** The node that returns the joined heads. */
  end: GraphNode;
}

/**
 * Turns a split graph into one whose cache is written in place by GroupQueryAttention: `past_key_values.N.key|value` and
 * `present.N.key|value` are the same tensor `[batch, kv_heads, capacity, head_dim]`. In place of `past_lens` it takes
 * `seqlens_k`, the last position of each row, and `total_length`, the length of the longest; `last_index` is `[batch, 1]`. Nothing
 * of it is computed beside a device. Returns false, and changes nothing, for attention that is not the plain one:
 * with windows, caps, sinks, latents or states. Neither is it for a model that reads images.
 */
export async function writeCacheInPlace(graph: EditedGraph): Promise<boolean> {
  const inputs = [...graph.inputs.keys()];
  if (!graph.outputs.has('new_kv') || inputs.some((name) => otherPasts.test(name))) return false;
  const layers = inputs.flatMap((name) => pastKeyPattern.exec(name)?.[1] ?? []).map(Number);
  const found: Attention[] = [];
  for (const layer of layers) {
    const attention = await findAttention(graph, layer);
    if (attention === null) return false;
    found.push(attention);
  }
  if (found.length === 0) return false;
  for (const attention of found) replaceAttention(graph, attention);
  pickLastToken(graph);
  sumExponentials(graph);
  graph.outputs.delete('new_kv');
  graph.setInput({ name: lastKeys, type: 'int32', dimensions: ['batch'] });
  graph.setInput({ name: totalLength, type: 'int32', dimensions: [1] });
  return true;
}

async function findAttention(graph: EditedGraph, layer: number): Promise<Attention | null> {
  const newKeyValues = graph.producer('new_kv')?.inputs ?? [];
  const key = rotated(graph, headsOf(graph, unsqueezed(graph, newKeyValues[2 * layer])));
  const value = headsOf(graph, unsqueezed(graph, newKeyValues[2 * layer + 1]));
  const product = graph.consumers(pastName(layer, 'key')).find(({ operator }) => operator === 'FusedMatMul');
  const grouped = graph.producer(product?.inputs[0]);
  const query = rotated(graph, grouped?.operator === 'Reshape' ? headsOf(graph, grouped.inputs[0]) : null);
  const scaled = graph.producer(query?.input);
  const scale = scaled?.operator === 'Mul' ? await graph.floatOf(scaled.inputs[1]) : null;
  const end = endOf(graph, product, layer);
  if (key === null || value === null || query === null || scale === null || end === null) return null;
  const { cosines, sines, interleaved, heads } = query;
  const pairs = graph.weight(cosines)?.dimensions[1] ?? 0;
  if (pairs === 0 || pairs % groupQueryKernel.rotatedPairs !== 0) return null;
  if (key.cosines !== cosines || key.sines !== sines || key.interleaved !== interleaved) return null;
  const places = { query: scaled?.inputs[0] ?? '', key: key.input, value };
  return { layer, ...places, cosines, sines, interleaved, heads, keyValueHeads: key.heads, scale, end };
}

/** Follows plain attention from the product with the past's keys to the joined heads. */
function endOf(graph: EditedGraph, product: GraphNode | undefined, layer: number): GraphNode | null {
  const path = ['Concat', 'Add', 'Softmax', 'Split'];
  let node: GraphNode | undefined = product;
  for (const operator of path) {
    node = only(graph.consumers(node?.outputs[0]));
    if (node?.operator !== operator) return null;
  }
  // A third part is that of sinks, and a third product none of plain attention.
  if (node?.outputs.length !== 2) return null;
  const ofPast = only(graph.consumers(node.outputs[0]));
  if (ofPast?.operator !== 'MatMul' || ofPast.inputs[1] !== pastName(layer, 'value')) return null;
  node = ofPast;
  for (const operator of ['Add', 'Reshape', 'Transpose', 'Reshape']) {
    node = only(graph.consumers(node?.outputs[0]));
    if (node?.operator !== operator) return null;
  }
  return node ?? null;
}

interface Rotated {
  input: string;
  cosines: string;
  sines: string;
  interleaved: number;
  heads: number;
}

function rotated(graph: EditedGraph, value: string | null): Rotated | null {
  const node = graph.producer(value ?? '');
  if (node?.operator !== 'RotaryEmbedding') return null;
  const [input = '', , cosines = '', sines = ''] = node.inputs;
  const { num_heads: heads = 0, interleaved = 0 } = node.integers;
  return heads === 0 ? null : { input, cosines, sines, interleaved, heads };
}

/** The value whose heads are split: `[batch, sequence, heads * head_dim]`. */
function headsOf(graph: EditedGraph, value: string | null | undefined): string | null {
  const transposed = graph.producer(value ?? '');
  const reshaped = graph.producer(transposed?.inputs[0]);
  return transposed?.operator === 'Transpose' && reshaped?.operator === 'Reshape' ? (reshaped.inputs[0] ?? null) : null;
}

function unsqueezed(graph: EditedGraph, value: string | undefined): string | null {
  const node = graph.producer(value);
  return node?.operator === 'Unsqueeze' ? (node.inputs[0] ?? null) : null;
}

function only(nodes: readonly GraphNode[]): GraphNode | undefined {
  return nodes.length === 1 ? nodes[0] : undefined;
}

function replaceAttention(graph: EditedGraph, attention: Attention): void {
  const { layer, query, key, value, cosines, sines, interleaved, heads, keyValueHeads, scale, end } = attention;
  const pasts = [pastName(layer, 'key'), pastName(layer, 'value')];
  const presents = [presentName(layer, 'key'), presentName(layer, 'value')];
  graph.replaceNode(end, {
    operator: 'GroupQueryAttention',
    domain: contribDomain,
    inputs: [query, key, value, ...pasts, lastKeys, totalLength, cosines, sines],
    outputs: [end.outputs[0] ?? '', ...presents],
    attributes: {
      num_heads: heads,
      kv_num_heads: keyValueHeads,
      do_rotary: 1,
      rotary_interleaved: interleaved,
      scale: { float: scale },
    },
  });
  for (const name of presents) {
    graph.setOutput({ name, type: 'float32', dimensions: ['batch', keyValueHeads, 'capacity', `${name}_size`] });
  }
}

function pastName(layer: number, part: 'key' | 'value'): string {
  return `past_key_values.${layer}.${part}`;
}

function presentName(layer: number, part: 'key' | 'value'): string {
  return `present.${layer}.${part}`;
}

/** Devices have no operator that changes the shape of integers. */
function pickLastToken(graph: EditedGraph): void {
  const [column] = graph.consumers('last_index');
  const pick = column?.operator === 'Unsqueeze' ? only(graph.consumers(column.outputs[0])) : undefined;
  if (pick?.operator !== 'GatherND') return;
  const { operator, outputs } = pick;
  const inputs = [pick.inputs[0] ?? '', 'last_index'];
  graph.replaceNode(pick, { operator, domain: '', inputs, outputs, attributes: { batch_dims: 1 } });
  graph.setInput({ name: 'last_index', type: 'int64', dimensions: ['batch', 1] });
}

/** LogSoftmax is computed on the processor, to which every logit would have to be copied. */
function sumExponentials(graph: EditedGraph): void {
  const [end, logits] = [graph.producer('lse'), graph.producer('logits')?.inputs[0]];
  if (end === undefined || logits === undefined || graph.producer('topk_values') === undefined) return;
  const value = (part: string) => `device.lse.${part}`;
  const integers = { from: 0n, to: 1n, axis: 1n };
  for (const [name, number] of Object.entries(integers)) {
    graph.setWeight(value(name), 'int64', [1], BigInt64Array.of(number));
  }
  const node = (operator: string, inputs: string[], output: string) => {
    return { operator, domain: '', inputs, outputs: [output], attributes: {} };
  };
  graph.replaceNode(
    end,
    node('Slice', ['topk_values', value('from'), value('to'), value('axis')], value('best')),
    node('Sub', [logits, value('best')], value('distances')),
    node('Exp', [value('distances')], value('powers')),
    node('ReduceSum', [value('powers'), value('axis')], value('sum')),
    node('Log', [value('sum')], value('log')),
    node('Add', [value('log'), value('best')], value('column')),
    node('Squeeze', [value('column'), value('axis')], 'lse'),
  );
}
