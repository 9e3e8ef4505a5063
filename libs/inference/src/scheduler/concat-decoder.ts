import type { ConcatGraph, IntegerType } from '../runtime/decoder-graph.js';
import { float16Bits, float16ToFloat32 } from '../runtime/float16.js';
import {
  type GraphSession,
  type GraphTensor,
  isKept,
  releaseKept,
  runKeeping,
  type TensorData,
} from '../runtime/graph-session.js';
import type { LogitsBatch } from '../sampling/logits-batch.js';
import { floatTensor } from '../runtime/float-tensor.js';
import type { CacheRow, DecodePart, Decoder, LogitsNeeded, PrefillPart } from './decoder.js';
import type { PromptMedia, RotaryPositions } from './prompt-media.js';
import type { TokenEmbedder } from './token-embedder.js';

class ConcatRow implements CacheRow {
  length = 0;
  /** Positions of the prompt; `prefixGrain` is its whole chunks. */
  reusableLength = 0;
  /** One tensor per cache, `[1, heads, length, dimension]`; empty without positions. */
  caches: GraphTensor[] = [];
  /** Added to the index of a position after the prompt. */
  shift = 0;

  copyableLength(wanted: number): number {
    return Math.min(wanted, this.reusableLength);
  }
}

/** Tokens to append to a row, as the graph takes them. */
interface RowInput {
  tokenIds: Int32Array;
  /** `[tokens, width]`; null for graphs that take ids. */
  embeddings: Float32Array | null;
  rotary?: RotaryPositions;
}

interface RowRun {
  row: ConcatRow;
  caches: GraphTensor[];
  length: number;
}

/**
 * Runs decoders in the transformers.js layout, whose cache is an input and a longer output at every step. Rows run one
 * by one. Exports in int8 quantize the activations of a whole tensor at once, so batched rows would depend on each
 * other, and the graph's interface does not tell which exports do. For the same reason a prefix is reused only in whole
 * prefill chunks, as originally computed.
 */
export class ConcatDecoder implements Decoder {
  readonly kind = 'concat';
  readonly vocabularySize: number;
  readonly topSize = 0;
  readonly hasLogSumExp = false;
  readonly givesWanted = false;
  readonly maxPrefillRows = 1;
  cacheElementsFed = 0;
  readonly prefixGrain: number;

  private readonly presents: ReadonlySet<string>;
  private graphMs = 0;
  private logits = new Float32Array(0);

  constructor(
    private readonly session: GraphSession,
    private readonly graph: ConcatGraph,
    private readonly options: { prefixGrain: number; embedder: TokenEmbedder | null },
  ) {
    this.prefixGrain = options.prefixGrain;
    this.presents = new Set(graph.caches.map(({ present }) => present ?? ''));
    this.vocabularySize = graph.vocabularySize;
  }

  get runMs(): number {
    return this.graphMs + (this.options.embedder?.runMs ?? 0);
  }

  openRow(): CacheRow {
    return new ConcatRow();
  }

  copyPrefix({ from, to, length }: { from: CacheRow; to: CacheRow; length: number }): void {
    const source = ownRow(from);
    const target = ownRow(to);
    releaseKept(target.caches);
    target.caches = source.caches.map((cache) => this.firstPositions(cache, source.length, length));
    target.length = length;
    target.reusableLength = length;
  }

  async prefill(parts: readonly PrefillPart[], wanted: LogitsNeeded): Promise<LogitsBatch> {
    const batch = this.newBatch(parts.length, wanted);
    for (const [index, part] of parts.entries()) {
      const row = ownRow(part.row);
      // A prefix of another prompt may have had other images.
      row.shift = part.media?.rotary?.shift ?? 0;
      const input = await this.inputOf(part, row.length);
      const done = await this.runRow(row, input, batch, index);
      commit(done);
      row.reusableLength = done.length;
    }
    return batch;
  }

  async extend(row: CacheRow, tokenIds: Int32Array): Promise<void> {
    const input = { tokenIds, embeddings: await this.embed(tokenIds, 0) };
    commit(await this.runRow(ownRow(row), input, this.newBatch(1, 'none'), 0));
  }

  async decode(parts: readonly DecodePart[], wanted: LogitsNeeded): Promise<LogitsBatch> {
    const batch = this.newBatch(parts.length, wanted);
    const runs: RowRun[] = [];
    const tokenIds = Int32Array.from(parts, ({ tokenId }) => tokenId);
    const embeddings = await this.embed(tokenIds, 0);
    const width = (embeddings?.length ?? 0) / parts.length;
    for (const [index, part] of parts.entries()) {
      if (part.sitsOut) continue;
      const input = {
        tokenIds: Int32Array.of(part.tokenId),
        embeddings: embeddings?.slice(index * width, (index + 1) * width) ?? null,
      };
      try {
        runs.push(await this.runRow(ownRow(part.row), input, batch, index));
      } catch (error) {
        for (const { caches } of runs) releaseKept(caches);
        throw error;
      }
    }
    runs.forEach(commit);
    return batch;
  }

  repeatForLogits(): Promise<LogitsBatch> {
    return Promise.reject(new RangeError('This decoder always returns every logit.'));
  }

  retain(row: CacheRow): CacheRow {
    const source = ownRow(row);
    const kept = new ConcatRow();
    // No copy is needed: tensors are never written to, only replaced.
    kept.caches = source.caches;
    source.caches = [];
    kept.length = source.length;
    kept.shift = source.shift;
    kept.reusableLength = source.reusableLength;
    this.release(row);
    return kept;
  }

  release(row: CacheRow): void {
    const disconnected = ownRow(row);
    releaseKept(disconnected.caches);
    disconnected.caches = [];
    disconnected.length = 0;
    disconnected.reusableLength = 0;
  }

  async close(): Promise<void> {
    await this.session.release();
    await this.options.embedder?.close();
  }

  private async inputOf({ tokenIds, media }: PrefillPart, start: number): Promise<RowInput> {
    return { tokenIds, embeddings: await this.embed(tokenIds, start, media), rotary: media?.rotary };
  }

  private async embed(tokenIds: Int32Array, start: number, media?: PromptMedia | null): Promise<Float32Array | null> {
    const { embedder } = this.options;
    return embedder === null ? null : await embedder.embed(tokenIds, { spans: media?.spans ?? [], start });
  }

  private async runRow(row: ConcatRow, input: RowInput, batch: LogitsBatch, index: number): Promise<RowRun> {
    const past = row.length === 0 ? this.emptyCaches() : row.caches;
    const fetches = this.graph.caches.map(({ present }) => present ?? '');
    if (batch.logits) fetches.push('logits');
    this.cacheElementsFed += this.graph.caches.length * this.graph.kvHeads * row.length * this.graph.headDim;
    const start = performance.now();
    const feeds = this.feedsOf(row, input, past);
    const { session, presents } = this;
    // On a device, the cache never leaves it.
    const outputs = await runKeeping(session, feeds, fetches, presents);
    this.graphMs += performance.now() - start;
    if (batch.logits) this.copyLastLogits(outputs['logits'], batch.logits, index);
    return { row, caches: this.presentOf(outputs), length: row.length + input.tokenIds.length };
  }

  private feedsOf(row: ConcatRow, input: RowInput, past: GraphTensor[]): Record<string, GraphTensor> {
    const { graph } = this;
    const pastLength = row.length;
    const steps = input.tokenIds.length;
    const feeds: Record<string, GraphTensor> = this.tokensOf(input);
    if (graph.attentionMask) {
      const total = pastLength + steps;
      feeds['attention_mask'] = this.integers(graph.attentionMask, new Int32Array(total).fill(1), [1, total]);
    }
    if (graph.positionIds) {
      const axes = graph.hasMultimodalPositions ? 3 : 1;
      const positions = positionsOf(row, input, axes);
      feeds['position_ids'] = this.integers(graph.positionIds, positions, axes === 3 ? [3, 1, steps] : [1, steps]);
    }
    if (graph.useCacheBranch) {
      feeds['use_cache_branch'] = this.session.tensor('bool', Uint8Array.of(pastLength > 0 ? 1 : 0), [1]);
    }
    if (graph.logitsToKeep) {
      const { name, rank } = graph.logitsToKeep;
      feeds[name] = this.integers('int64', Int32Array.of(1), rank === 0 ? [] : [1]);
    }
    graph.caches.forEach(({ past: name }, cache) => {
      const tensor = past[cache];
      if (tensor) feeds[name] = tensor;
    });
    return feeds;
  }

  private tokensOf({ tokenIds, embeddings }: RowInput): Record<string, GraphTensor> {
    const steps = tokenIds.length;
    if (embeddings === null) return { input_ids: this.integers(this.graph.inputIds, tokenIds, [1, steps]) };
    const dims = [1, steps, embeddings.length / steps];
    return { inputs_embeds: floatTensor(this.session, { input: 'inputs_embeds', data: embeddings, dims }) };
  }

  private presentOf(outputs: Record<string, GraphTensor>): GraphTensor[] {
    return this.graph.caches.map(({ present }) => {
      const tensor = outputs[present ?? ''];
      if (!tensor) throw new TypeError(`The graph did not return ${present}.`);
      return tensor;
    });
  }

  /** Logits are `[1, steps, vocabulary]`, or `[1, 1, vocabulary]` if the graph keeps only the last. */
  private copyLastLogits(tensor: GraphTensor | undefined, target: Float32Array, index: number): void {
    if (!tensor) throw new TypeError('The graph did not return logits.');
    const size = this.vocabularySize;
    const row = target.subarray(index * size, (index + 1) * size);
    if (tensor.data instanceof Float32Array) row.set(tensor.data.subarray(tensor.data.length - size));
    else {
      const bits = float16Bits(tensor);
      float16ToFloat32(bits, row, bits.length - size);
    }
  }

  private newBatch(rows: number, wanted: LogitsNeeded): LogitsBatch {
    const needed = wanted === 'none' ? 0 : rows * this.vocabularySize;
    if (this.logits.length < needed) this.logits = new Float32Array(needed);
    return {
      rowIndexes: Int32Array.from({ length: rows }, (_, index) => index),
      topValues: null,
      topIds: null,
      topSize: 0,
      logSumExp: null,
      logits: wanted === 'none' ? null : this.logits,
      vocabularySize: this.vocabularySize,
    };
  }

  private emptyCaches(): GraphTensor[] {
    const { caches, kvHeads, headDim, cacheType } = this.graph;
    const data = cacheType === 'float16' ? new Uint16Array(0) : new Float32Array(0);
    return caches.map(() => this.session.tensor(cacheType, data, [1, kvHeads, 0, headDim]));
  }

  private firstPositions(tensor: GraphTensor, positions: number, length: number): GraphTensor {
    const { kvHeads, headDim, cacheType } = this.graph;
    const held = isKept(tensor) ? tensor.read() : tensor.data;
    const source = cacheType === 'float16' ? float16Bits({ ...tensor, data: held }) : held;
    if (!(source instanceof Float32Array || source instanceof Uint16Array)) throw new TypeError('Unknown cache data.');
    const target =
      cacheType === 'float16'
        ? new Uint16Array(kvHeads * length * headDim)
        : new Float32Array(kvHeads * length * headDim);
    for (let head = 0; head < kvHeads; head++) {
      const from = head * positions * headDim;
      target.set(source.subarray(from, from + length * headDim), head * length * headDim);
    }
    return this.session.tensor(cacheType, target, [1, kvHeads, length, headDim]);
  }

  private integers(type: IntegerType, values: Int32Array, dims: number[]): GraphTensor {
    const data: TensorData = type === 'int64' ? BigInt64Array.from(values, BigInt) : values;
    return this.session.tensor(type, data, dims);
  }
}

/** Returns `[axes, steps]`: of the prompt as given, after it the index and what images shifted it by. */
function positionsOf(row: ConcatRow, { tokenIds, rotary }: RowInput, axes: number): Int32Array {
  const steps = tokenIds.length;
  const length = (rotary?.values.length ?? 0) / 3;
  return Int32Array.from({ length: axes * steps }, (_, at) => {
    const index = row.length + (at % steps);
    if (rotary === undefined) return index + row.shift;
    return rotary.values[Math.floor(at / steps) * length + index] ?? 0;
  });
}

function commit({ row, caches, length }: RowRun): void {
  releaseKept(row.caches);
  row.caches = caches;
  row.length = length;
}

function ownRow(row: CacheRow): ConcatRow {
  if (row instanceof ConcatRow) return row;
  throw new TypeError('The row belongs to another decoder.');
}
