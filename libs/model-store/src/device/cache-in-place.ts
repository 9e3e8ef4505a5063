import { encodeFloat16Array } from '#common';
import { contribDomain, onnxDataTypeCode, type OnnxNode } from '../onnx/onnx-types.js';
import type { EditedGraph } from './edited-graph.js';
import { groupQueryKernel } from './group-query-kernel.js';
import { only, pastName, readSplitAttention, type SplitAttention } from './split-attention.js';

/** Inputs of the graph with its cache in place, beside those that it keeps. */
const lastKeys = 'seqlens_k';
const totalLength = 'total_length';
const positionIds = 'position_ids';

const pastKeyPattern = /^past_key_values\.(\d+)\.key$/;
const otherPasts = /^(?:past_states\.|media$)|\.latent$/;

/** Half floats take half of the memory, and of its bandwidth; scores and sums are floats in either case. */
export type FloatCacheType = 'float32' | 'float16';

/** What the numbers of a cache are. Integers of 8 bits take a quarter, and have scales. */
export type CacheType = FloatCacheType | 'int8';

/** Scales of the 8-bit keys and values of a layer: one each, or one for every value of every head. */
export interface CacheScales {
  keys: Float32Array;
  values: Float32Array;
}

/**
 * Turns a split graph into one whose cache is written in place by GroupQueryAttention: `past_key_values.N.key|value` and
 * `present.N.key|value` are the same tensor `[batch, kv_heads, capacity, head_dim]`. In place of `past_lens` it takes
 * `seqlens_k`, the last position of each row, and `total_length`, the length of the longest; `last_index` is `[batch, 1]`.
 * Where the operator cannot rotate as the model does, it takes `position_ids` `[batch, seq]` too. Nothing of it is computed
 * beside a device. Returns false, and changes nothing, for what the operator does not compute on the provider, such as
 * latents, states, chunks, keys that layers share, and images.
 */
export async function writeCacheInPlace(
  graph: EditedGraph,
  provider: string,
  cache: FloatCacheType | readonly CacheScales[] = 'float32',
): Promise<boolean> {
  const inputs = [...graph.inputs.keys()];
  if (!graph.outputs.has('new_kv') || inputs.some((name) => otherPasts.test(name))) return false;
  const layers = inputs.flatMap((name) => pastKeyPattern.exec(name)?.[1] ?? []).map(Number);
  const found: SplitAttention[] = [];
  for (const layer of layers) {
    const attention = await readSplitAttention(graph, layer);
    if (attention === null || !isComputedOn(provider, attention)) return false;
    found.push(attention);
  }
  if (found.length === 0) return false;
  const halves = cache === 'float16' ? await halvesOf(graph, found) : null;
  if (halves === undefined) return false;
  for (const [name, { dimensions, values }] of halves ?? []) {
    graph.setWeight(halfName(name), 'float16', dimensions, values);
  }
  found.forEach((attention, index) => {
    if (typeof cache === 'string') replaceAttention(graph, attention, cache);
    else replaceAttention(graph, attention, 'int8', setScales(graph, attention, cache[index]));
  });
  takePositions(graph);
  pickLastToken(graph);
  sumExponentials(graph);
  graph.outputs.delete('new_kv');
  graph.setInput({ name: lastKeys, type: 'int32', dimensions: ['batch'] });
  graph.setInput({ name: totalLength, type: 'int32', dimensions: [1] });
  return true;
}

function isComputedOn(provider: string, { softCap, headSize }: SplitAttention): boolean {
  if (headSize % groupQueryKernel.headSizes !== 0) return false;
  return softCap === null || groupQueryKernel.softCaps.includes(provider);
}

/** Tables and sinks of the operator have the type of its cache. Undefined where one of them cannot be read. */
async function halvesOf(graph: EditedGraph, found: readonly SplitAttention[]): Promise<Halves | undefined> {
  const halves: Halves = new Map();
  for (const { rotation, sinks } of found) {
    for (const name of [rotation?.cosines, rotation?.sines, sinks]) {
      if (name === undefined || name === null || halves.has(name)) continue;
      const [bytes, dimensions] = [await graph.bytesOf(name), graph.weight(name)?.dimensions];
      if (bytes === null || dimensions === undefined) return undefined;
      // A copy, because floats begin at multiples of four bytes.
      halves.set(name, { dimensions, values: encodeFloat16Array(new Float32Array(Uint8Array.from(bytes).buffer)) });
    }
  }
  return halves;
}

type Halves = Map<string, { dimensions: number[]; values: Uint16Array }>;

function halfName(name: string): string {
  return `${name}.half`;
}

/** Names and attributes of the scales of a layer. Throws `RangeError` for a number that the operator does not take. */
interface ScaledCache {
  names: string[];
  attributes: OnnxNode['attributes'];
}

function setScales(
  graph: EditedGraph,
  { layer, keyValueHeads, headSize }: SplitAttention,
  scales: CacheScales | undefined,
): ScaledCache {
  const parts = Object.entries({ k: scales?.keys ?? new Float32Array(0), v: scales?.values ?? new Float32Array(0) });
  const [count = 0] = parts.map(([, values]) => values.length);
  const isOne = count === 1;
  if (!isOne && count !== keyValueHeads * headSize) throw new RangeError(`layer ${layer} has ${count} scales`);
  const names = parts.map(([part, values]) => {
    graph.setWeight(`device.${layer}.${part}_scale`, 'float32', [count], values);
    return `device.${layer}.${part}_scale`;
  });
  const type = isOne ? 'PER_TENSOR' : 'PER_CHANNEL';
  return { names, attributes: { k_quant_type: type, v_quant_type: type, kv_cache_bit_width: 8 } };
}

function replaceAttention(
  graph: EditedGraph,
  attention: SplitAttention,
  cacheType: CacheType,
  scaled?: ScaledCache,
): void {
  const { layer, query, key, value, rotation, heads, keyValueHeads, headSize, scale, window, softCap, sinks, end } =
    attention;
  const pasts = [pastName(layer, 'key'), pastName(layer, 'value')];
  const presents = [presentName(layer, 'key'), presentName(layer, 'value')];
  const isHalf = cacheType === 'float16';
  const stored = (name: string) => (isHalf ? halfName(name) : name);
  const tables = rotation === null ? ['', ''] : [stored(rotation.cosines), stored(rotation.sines)];
  // Between the tables and the sinks are positions and a bias, which the operator does without.
  const optional = sinks === null && !scaled ? tables : [...tables, '', '', sinks === null ? '' : stored(sinks)];
  const [output = ''] = end.outputs;
  const part = (name: string) => `device.${layer}.${name}`;
  const cast = (from: string, to: string, type: FloatCacheType): OnnxNode => {
    return { operator: 'Cast', domain: '', inputs: [from], outputs: [to], attributes: { to: onnxDataTypeCode[type] } };
  };
  const fresh = isHalf ? [part('query'), part('key'), part('value')] : [query, key, value];
  const operator: OnnxNode = {
    operator: 'GroupQueryAttention',
    domain: contribDomain,
    inputs: [...fresh, ...pasts, lastKeys, totalLength, ...optional, ...(scaled?.names ?? [])],
    outputs: [isHalf ? part('output') : output, ...presents],
    attributes: {
      num_heads: heads,
      kv_num_heads: keyValueHeads,
      scale: { float: scale },
      ...(rotation !== null && { do_rotary: 1, rotary_interleaved: rotation.interleaved }),
      ...(window !== null && { local_window_size: window }),
      ...(softCap !== null && { softcap: { float: softCap } }),
      ...scaled?.attributes,
    },
  };
  const before = [query, key, value].map((from, index) => cast(from, fresh[index] ?? '', 'float16'));
  graph.replaceNode(end, ...(isHalf ? [...before, operator, cast(part('output'), output, 'float32')] : [operator]));
  const dimensions = ['batch', keyValueHeads, 'capacity', headSize];
  for (const name of presents) graph.setOutput({ name, type: cacheType, dimensions });
  for (const name of pasts) graph.setInput({ name, type: cacheType, dimensions });
}

function presentName(layer: number, part: 'key' | 'value'): string {
  return `present.${layer}.${part}`;
}

/** Positions are those of the caller: what remains of their users rotates, or weighs queries. */
function takePositions(graph: EditedGraph): void {
  const [column] = graph.consumers('past_lens').filter(({ operator }) => operator === 'Unsqueeze');
  const sum = graph.consumers(column?.outputs[0]).find(({ operator }) => operator === 'Add');
  if (sum === undefined) return;
  const { outputs } = sum;
  graph.replaceNode(sum, { operator: 'Identity', domain: '', inputs: [positionIds], outputs, attributes: {} });
  graph.setInput({ name: positionIds, type: 'int64', dimensions: ['batch', 'seq'] });
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
export function sumExponentials(graph: EditedGraph): void {
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
