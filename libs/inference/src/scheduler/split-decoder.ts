import type { SplitGraph } from '../runtime/decoder-graph.js';
import type { GraphSession, GraphTensor } from '../runtime/graph-session.js';
import { freeOutput } from '../runtime/output-memory.js';
import type { LogitsBatch } from '../sampling/logits-batch.js';
import { CacheBlock, capacityFor } from './cache-block.js';
import type { CacheRow, DecodePart, Decoder, LogitsNeeded, PrefillPart } from './decoder.js';

class SplitRow implements CacheRow {
  length = 0;
  /** Null without positions. A row of the running batch uses the batch's block. */
  block: CacheBlock | null = null;
  index = 0;

  constructor(readonly adapter: number) {}

  get reusableLength(): number {
    return this.length;
  }
}

interface RunInput {
  /** Tokens of each batch row, padded on the right to the longest. */
  tokenIds: ArrayLike<number>[];
  pastLengths: number[];
  past: GraphTensor[];
  /** Adapter of each batch row. */
  adapters: number[];
  /** Position of each part's row in the batch of this run. */
  rowIndexes: Int32Array;
  /** Tokens whose logits are returned, of each batch row; absent: of none. */
  wantedIds?: (readonly number[])[];
}

interface Fresh {
  data: Float32Array;
  batch: number;
  steps: number;
}

interface RunResult {
  feeds: Record<string, GraphTensor>;
  fresh: Fresh;
  logits: LogitsBatch;
}

/** Maximum number of rows in a prefill run; these are short prompts, so more would mostly add padding. */
const maxSharedRows = 16;

/**
 * Runs the split graph. Rows of the running batch are contiguous in one block: the last row fills any gap. Prompts of
 * several chunks have a separate block until they are complete, so they neither widen the batch nor pay for its width.
 */
export class SplitDecoder implements Decoder {
  readonly kind = 'split';
  readonly vocabularySize: number;
  readonly topSize: number;
  readonly hasLogSumExp: boolean;
  readonly givesWanted: boolean;
  readonly maxPrefillRows = maxSharedRows;
  readonly prefixGrain = 1;
  cacheElementsFed = 0;
  runMs = 0;

  private batch: CacheBlock;
  private readonly members: SplitRow[] = [];
  /** Cache input of rows without a past. */
  private readonly nothing: CacheBlock;
  /** Freed by the next run: megabytes, at every step that fetches them. */
  private lastLogits: Float32Array | null = null;
  /** Parts that match the cache: valid between a decode step and the next change, while the layout is fixed. */
  private lastDecode: { feeds: Record<string, GraphTensor>; rowIndexes: Int32Array } | null = null;

  constructor(
    private readonly session: GraphSession,
    private readonly graph: SplitGraph,
    private readonly slots: number,
  ) {
    this.vocabularySize = graph.vocabularySize;
    this.topSize = graph.topSize;
    this.hasLogSumExp = graph.hasLogSumExp;
    this.givesWanted = graph.givesWanted;
    this.batch = this.newBlock();
    this.nothing = this.newBlock();
    this.nothing.resize({ rows: maxSharedRows, capacity: 1, lengths: [] });
  }

  openRow(adapter = 0): CacheRow {
    return new SplitRow(adapter);
  }

  copyPrefix({ from, to, length }: { from: CacheRow; to: CacheRow; length: number }): void {
    const source = ownRow(from);
    const target = ownRow(to);
    if (source.adapter !== target.adapter) throw new RangeError('The rows belong to different adapters.');
    if (!source.block) return;
    target.block = this.newBlock();
    target.block.resize({ rows: 1, capacity: capacityFor(length), lengths: [] });
    source.block.copyRow(source.index, { block: target.block, row: 0 }, length);
    target.length = length;
  }

  async prefill(parts: readonly PrefillPart[], wanted: LogitsNeeded): Promise<LogitsBatch> {
    // They run in the batch, where each row must have a token at every step.
    if (parts.length > 1 && parts.some((part) => !part.final)) throw new RangeError('Only last parts may share a run.');
    const rows = parts.map((part) => ownRow(part.row));
    const past = this.prefillPast(rows);
    const fresh = await this.run(
      {
        tokenIds: parts.map((part) => part.tokenIds),
        pastLengths: rows.map((row) => row.length),
        past,
        adapters: rows.map((row) => row.adapter),
        rowIndexes: Int32Array.from(parts, (_, index) => index),
      },
      wanted,
    );
    parts.forEach((part, index) => {
      const row = ownRow(part.row);
      this.ensureCapacity(row, row.length + part.tokenIds.length, part.final);
      this.append(row, fresh.fresh, index, part.tokenIds.length);
    });
    freeOutput(fresh.fresh.data);
    return fresh.logits;
  }

  async extend(given: CacheRow, tokenIds: Int32Array): Promise<void> {
    const row = ownRow(given);
    if (row.block !== this.batch) throw new RangeError('Only rows of the running batch are extended.');
    const past = this.batch.tensors(row.index, 1);
    const own = { tokenIds: [tokenIds], pastLengths: [row.length], adapters: [row.adapter] };
    const { fresh } = await this.run({ ...own, past, rowIndexes: Int32Array.of(0) }, 'none');
    this.fitBatch(this.members.length, 0, row.length + tokenIds.length);
    this.append(row, fresh, 0, tokenIds.length);
    freeOutput(fresh.data);
  }

  async decode(parts: readonly DecodePart[], wanted: LogitsNeeded): Promise<LogitsBatch> {
    if (parts.length !== this.members.length) throw new RangeError('A decode step must name every row of the batch.');
    this.fitBatch(this.members.length, 1);
    const rows = parts.map((part) => ownRow(part.row));
    const tokenIds: number[][] = new Array(parts.length);
    const wantedIds: (readonly number[])[] = new Array(parts.length);
    parts.forEach((part, index) => {
      const place = rows[index]?.index ?? 0;
      tokenIds[place] = [part.tokenId];
      wantedIds[place] = part.wantedIds ?? [];
    });
    const rowIndexes = Int32Array.from(rows, (row) => row.index);
    const result = await this.run(
      {
        tokenIds,
        pastLengths: this.members.map((row) => row.length),
        past: this.batch.tensors(0, this.members.length),
        adapters: this.members.map((row) => row.adapter),
        rowIndexes,
        wantedIds,
      },
      wanted,
    );
    for (const row of this.members) this.append(row, result.fresh, row.index, 1);
    freeOutput(result.fresh.data);
    this.lastDecode = { feeds: result.feeds, rowIndexes };
    return result.logits;
  }

  async repeatForLogits(): Promise<LogitsBatch> {
    if (!this.lastDecode) throw new RangeError('There is no decode step to repeat.');
    const { feeds, rowIndexes } = this.lastDecode;
    const outputs = await this.timedRun(feeds, this.fetchesFor('full'));
    return this.logitsOf(outputs, rowIndexes);
  }

  retain(row: CacheRow): CacheRow {
    const source = ownRow(row);
    const kept = new SplitRow(source.adapter);
    if (source.block && source.length > 0) {
      kept.block = this.newBlock();
      kept.block.resize({ rows: 1, capacity: source.length, lengths: [] });
      source.block.copyRow(source.index, { block: kept.block, row: 0 }, source.length);
      kept.length = source.length;
    }
    this.release(row);
    return kept;
  }

  release(row: CacheRow, tainted = false): void {
    const disconnected = ownRow(row);
    if (disconnected.block === this.batch) this.leaveBatch(disconnected);
    disconnected.block = null;
    disconnected.length = 0;
    this.lastDecode = null;
    if (tainted && this.batch.rows > 0) this.batch.scrub(this.members.map((member) => member.length));
  }

  async close(): Promise<void> {
    this.members.length = 0;
    await this.session.release();
  }

  private newBlock(): CacheBlock {
    const { caches, kvHeads, headDim } = this.graph;
    return new CacheBlock(this.session, { caches: caches.length, heads: kvHeads, dimension: headDim });
  }

  /**
   * Moves rows into the batch if several with positions run together, because these must be contiguous; a single row
   * uses its own block.
   */
  private prefillPast(rows: SplitRow[]): GraphTensor[] {
    if (rows.every((row) => row.length === 0)) return this.nothing.tensors(0, rows.length);
    const [only] = rows;
    if (rows.length === 1 && only?.block) return only.block.tensors(only.index, 1);
    const first = this.members.length;
    for (const row of rows) this.joinBatch(row, row.length);
    return this.batch.tensors(first, rows.length);
  }

  private ensureCapacity(row: SplitRow, length: number, final: boolean): void {
    if (row.block === this.batch) return this.fitBatch(this.members.length, 0, length);
    if (final) return this.joinBatch(row, length);
    row.block ??= this.newBlock();
    if (row.block.capacity < length) {
      row.block.resize({ rows: 1, capacity: capacityFor(length), lengths: [row.length] });
    }
  }

  private joinBatch(row: SplitRow, length: number): void {
    this.fitBatch(this.members.length + 1, 0, length);
    const target = { block: this.batch, row: this.members.length };
    if (row.block) row.block.copyRow(row.index, target, row.length);
    row.block = this.batch;
    row.index = target.row;
    this.members.push(row);
  }

  private leaveBatch(row: SplitRow): void {
    const last = this.members.pop();
    // An empty batch frees its memory; the next row starts with a small one.
    if (this.members.length === 0) this.batch = this.newBlock();
    if (!last || last === row) return;
    this.batch.copyRow(last.index, { block: this.batch, row: row.index }, last.length);
    last.index = row.index;
    this.members[row.index] = last;
  }

  /** Sizes the batch for `rows` rows, each with `more` further positions, one with `length` in total. */
  private fitBatch(rows: number, more: number, length = 0): void {
    const lengths = this.members.map((member) => member.length);
    const needed = capacityFor(Math.max(length, ...lengths.map((held) => held + more)));
    // Shrinking copies all rows, so it waits until it saves a substantial part of every step.
    const fits = needed <= this.batch.capacity && needed > this.batch.capacity * 0.625;
    const capacity = fits ? this.batch.capacity : needed;
    const allocated =
      this.batch.rows >= rows ? this.batch.rows : Math.min(this.slots, Math.max(rows, this.batch.rows * 2));
    this.batch.resize({ rows: Math.max(rows, allocated), capacity, lengths });
  }

  private append(row: SplitRow, fresh: Fresh, batchIndex: number, count: number): void {
    if (!row.block) throw new RangeError('A row without a block cannot take tokens.');
    row.block.write(fresh, { batchIndex, row: row.index, position: row.length, count });
    row.length += count;
  }

  private async run(input: RunInput, wanted: LogitsNeeded): Promise<RunResult> {
    const batch = input.tokenIds.length;
    const steps = Math.max(...input.tokenIds.map((ids) => ids.length));
    const feeds = this.feedsOf(input, batch, steps);
    for (const tensor of input.past) this.cacheElementsFed += elementsOf(tensor);
    const outputs = await this.timedRun(feeds, ['new_kv', ...this.fetchesFor(wanted)]);
    this.lastDecode = null;
    return {
      feeds,
      fresh: { data: floats(outputs['new_kv']), batch, steps },
      logits: this.logitsOf(outputs, input.rowIndexes),
    };
  }

  private feedsOf(input: RunInput, batch: number, steps: number): Record<string, GraphTensor> {
    const ids = new BigInt64Array(batch * steps);
    const last = new BigInt64Array(batch);
    input.tokenIds.forEach((tokens, row) => {
      for (let step = 0; step < tokens.length; step++) ids[row * steps + step] = BigInt(tokens[step] ?? 0);
      last[row] = BigInt(tokens.length - 1);
    });
    const feeds: Record<string, GraphTensor> = {
      input_ids: this.session.tensor('int64', ids, [batch, steps]),
      past_lens: this.session.tensor('int64', BigInt64Array.from(input.pastLengths, BigInt), [batch]),
      last_index: this.session.tensor('int64', last, [batch]),
    };
    if (this.graph.takesAdapters) {
      feeds['adapter_ids'] = this.session.tensor('int64', BigInt64Array.from(input.adapters, BigInt), [batch]);
    }
    if (this.givesWanted) feeds['wanted_ids'] = this.wantedTensor(input.wantedIds ?? [], batch);
    this.graph.caches.forEach(({ past }, cache) => {
      const tensor = input.past[cache];
      if (tensor) feeds[past] = tensor;
    });
    return feeds;
  }

  /** One column at least, and zeros where a row wants less than another. */
  private wantedTensor(wantedIds: readonly (readonly number[])[], batch: number): GraphTensor {
    const width = wantedIds.reduce((widest, { length }) => Math.max(widest, length), 1);
    const ids = new BigInt64Array(batch * width);
    wantedIds.forEach((row, index) => row.forEach((id, place) => (ids[index * width + place] = BigInt(id))));
    return this.session.tensor('int64', ids, [batch, width]);
  }

  private fetchesFor(wanted: LogitsNeeded): string[] {
    if (wanted === 'none') return [];
    const names = this.topSize > 0 ? ['topk_values', 'topk_ids'] : [];
    if (this.graph.hasLogSumExp) names.push('lse');
    if (this.givesWanted) names.push('wanted_logits');
    if (wanted === 'full' || this.topSize === 0) names.push('logits');
    return names;
  }

  private async timedRun(feeds: Record<string, GraphTensor>, fetches: string[]): Promise<Record<string, GraphTensor>> {
    if (this.lastLogits !== null) freeOutput(this.lastLogits);
    this.lastLogits = null;
    const start = performance.now();
    try {
      return await this.session.run(feeds, fetches);
    } finally {
      this.runMs += performance.now() - start;
    }
  }

  private logitsOf(outputs: Record<string, GraphTensor>, rowIndexes: Int32Array): LogitsBatch {
    const ids = outputs['topk_ids']?.data;
    const wanted = outputs['wanted_logits'];
    this.lastLogits = outputs['logits'] ? floats(outputs['logits']) : null;
    return {
      rowIndexes,
      topValues: outputs['topk_values'] ? floats(outputs['topk_values']) : null,
      topIds: ids instanceof BigInt64Array ? narrowed(ids) : null,
      topSize: this.topSize,
      logSumExp: outputs['lse'] ? floats(outputs['lse']) : null,
      logits: this.lastLogits,
      vocabularySize: this.vocabularySize,
      wanted: wanted ? floats(wanted) : null,
      wantedSize: wanted?.dims[1] ?? 0,
    };
  }
}

function ownRow(row: CacheRow): SplitRow {
  if (row instanceof SplitRow) return row;
  throw new TypeError('The row belongs to another decoder.');
}

function floats(tensor: GraphTensor | undefined): Float32Array {
  if (tensor?.data instanceof Float32Array) return tensor.data;
  throw new TypeError('The graph did not return float32 where expected.');
}

/**
 * Reads the low halves of the bigints: ids are far below 2^31, and converting each bigint would take about as long as
 * sampling.
 */
function narrowed(ids: BigInt64Array): Int32Array {
  const halves = new Int32Array(ids.buffer, ids.byteOffset, ids.length * 2);
  const low = new Int32Array(ids.length);
  for (let index = 0; index < low.length; index++) low[index] = halves[index * 2] as number;
  return low;
}

function elementsOf(tensor: GraphTensor): number {
  return tensor.dims.reduce((product, size) => product * size, 1);
}
