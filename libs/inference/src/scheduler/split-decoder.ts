import { windowCacheLimits } from '#model-memory';
import { freeBytes } from '#platform/memory';
import type { SplitGraph } from '../runtime/decoder-graph.js';
import type { GraphSession, GraphTensor } from '../runtime/graph-session.js';
import type { LogitsBatch } from '../sampling/logits-batch.js';
import { capacityFor } from './cache-block.js';
import type { CacheRow, DecodePart, Decoder, LogitsNeeded, PrefillPart } from './decoder.js';
import { type FreshPositions, heldInWindow, LayeredCache } from './layered-cache.js';
import { type KeptWindow, SplitRow } from './split-row.js';
import { type Span, type WindowLimits, windowStart } from './window-positions.js';

interface RunInput {
  /** Tokens of each batch row, padded on the right to the longest. */
  tokenIds: ArrayLike<number>[];
  /** Positions of each batch row in `past`. */
  spans: readonly Span[];
  past: GraphTensor[];
  /** Adapter of each batch row. */
  adapters: number[];
  /** Position of each part's row in the batch of this run. */
  rowIndexes: Int32Array;
  /** Tokens whose logits are returned, of each batch row; absent: of none. */
  wantedIds?: (readonly number[])[];
}

interface RunResult {
  feeds: Record<string, GraphTensor>;
  fresh: FreshPositions;
  logits: LogitsBatch;
}

/** Maximum number of rows in a prefill run; these are short prompts, so more would mostly add padding. */
const maxSharedRows = 16;

/**
 * Runs the split graph. Rows of the running batch are contiguous in one cache: the last row fills any gap. Prompts of
 * several chunks have a separate cache until they are complete, so they neither widen the batch nor pay for its width.
 * Before a run, layers with a window drop what no later token sees.
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

  private batch: LayeredCache;
  private readonly members: SplitRow[] = [];
  /** Cache input of rows without a past. */
  private readonly nothing: LayeredCache;
  private readonly window: KeptWindow | null;
  /** Freed by the next run: megabytes, at every step that fetches them. */
  private lastLogits: Float32Array | null = null;
  /** Parts that match the cache: valid between a decode step and the next change, while the layout is fixed. */
  private lastDecode: { feeds: Record<string, GraphTensor>; rowIndexes: Int32Array } | null = null;

  constructor(
    private readonly session: GraphSession,
    private readonly graph: SplitGraph,
    private readonly slots: number,
    limits: WindowLimits = windowCacheLimits,
  ) {
    this.vocabularySize = graph.vocabularySize;
    this.topSize = graph.topSize;
    this.hasLogSumExp = graph.hasLogSumExp;
    this.givesWanted = graph.givesWanted;
    const windows = graph.caches.flatMap(({ window }) => window ?? []);
    this.window = windows.length === 0 ? null : { ...limits, size: Math.max(...windows) };
    this.batch = this.newCache();
    this.nothing = this.newCache();
    this.nothing.resize(maxSharedRows, { whole: 1, windowed: 1 }, []);
  }

  openRow(adapter = 0): CacheRow {
    return new SplitRow(this.window, adapter);
  }

  copyPrefix({ from, to, length }: { from: CacheRow; to: CacheRow; length: number }): void {
    const source = ownRow(from);
    const target = ownRow(to);
    if (source.adapter !== target.adapter) throw new RangeError('The rows belong to different adapters.');
    if (!source.cache) return;
    const start = this.window === null ? 0 : windowStart(length, this.window.size, this.window);
    const cache = this.newCache();
    cache.resize(1, { whole: capacityFor(length), windowed: capacityFor(length - start) }, []);
    source.cache.whole.copyRow(source.index, { block: cache.whole, row: 0 }, length);
    source.copyWindow({ start, length }, cache.windowed);
    target.hold({ cache, head: null, tail: null, length, start });
    if (target.headLength === 0) return;
    target.head = cache.windowed.newRow(target.headLength);
    source.copyWindow({ start: 0, length: target.headLength }, target.head);
  }

  async prefill(parts: readonly PrefillPart[], wanted: LogitsNeeded): Promise<LogitsBatch> {
    // They run in the batch, where each row must have a token at every step.
    if (parts.length > 1 && parts.some((part) => !part.final)) throw new RangeError('Only last parts may share a run.');
    const rows = parts.map((part) => ownRow(part.row));
    for (const row of rows) row.dropUnseen();
    const past = this.prefillPast(rows);
    const fresh = await this.run(
      {
        tokenIds: parts.map((part) => part.tokenIds),
        spans: rows,
        past,
        adapters: rows.map((row) => row.adapter),
        rowIndexes: Int32Array.from(parts, (_, index) => index),
      },
      wanted,
    );
    parts.forEach((part, index) => {
      const row = ownRow(part.row);
      this.ensureCapacity(row, part.tokenIds.length, part.final);
      this.append(row, fresh.fresh, index, part.tokenIds.length);
      if (part.final) row.promptLength = row.length;
    });
    freeBytes(fresh.fresh.data);
    return fresh.logits;
  }

  async extend(given: CacheRow, tokenIds: Int32Array): Promise<void> {
    const row = ownRow(given);
    if (row.cache !== this.batch) throw new RangeError('Only rows of the running batch are extended.');
    row.dropUnseen();
    const past = this.batch.tensors(row.index, 1);
    const input = {
      tokenIds: [tokenIds],
      spans: [row],
      past,
      adapters: [row.adapter],
      rowIndexes: Int32Array.of(0),
    };
    const { fresh } = await this.run(input, 'none');
    this.fitBatch(this.members.length, grown(row, tokenIds.length));
    this.append(row, fresh, 0, tokenIds.length);
    freeBytes(fresh.data);
  }

  async decode(parts: readonly DecodePart[], wanted: LogitsNeeded): Promise<LogitsBatch> {
    if (parts.length !== this.members.length) throw new RangeError('A decode step must name every row of the batch.');
    for (const row of this.members) row.dropUnseen();
    this.fitBatch(this.members.length, ...this.members.map((row) => grown(row, 1)));
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
        spans: this.members,
        past: this.batch.tensors(0, this.members.length),
        adapters: this.members.map((row) => row.adapter),
        rowIndexes,
        wantedIds,
      },
      wanted,
    );
    // Rows are contiguous, so one that sits out is computed as well, and its position dropped.
    parts.forEach(({ sitsOut = false }, index) => {
      const row = rows[index];
      if (row !== undefined && !sitsOut) this.append(row, result.fresh, row.index, 1);
    });
    freeBytes(result.fresh.data);
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
    const kept = new SplitRow(this.window, source.adapter);
    if (source.cache && source.length > 0) {
      const cache = this.takeCache(source, source.cache);
      const { length, start, head, tail } = source;
      kept.hold({ cache, head, tail, length, start });
    }
    this.release(row);
    return kept;
  }

  release(row: CacheRow, tainted = false): void {
    const disconnected = ownRow(row);
    if (disconnected.cache === this.batch) this.leaveBatch(disconnected);
    else disconnected.cache?.free();
    disconnected.hold({ cache: null, head: null, tail: null, length: 0, start: 0 });
    this.lastDecode = null;
    if (tainted && this.batch.rows > 0) this.batch.scrub(this.members);
  }

  async close(): Promise<void> {
    this.members.length = 0;
    await this.session.release();
  }

  /** Returns the positions of a row in a cache of their own: a copy, unless the row is the only one of its cache. */
  private takeCache(row: SplitRow, from: LayeredCache): LayeredCache {
    const capacity = { whole: row.length, windowed: heldInWindow(row) };
    if (from === this.batch && this.members.length > 1) {
      const cache = this.newCache();
      cache.resize(1, capacity, []);
      from.copyRow(row.index, { cache, row: 0 }, row);
      return cache;
    }
    from.resize(1, capacity, [row]);
    row.cache = null;
    if (from === this.batch) {
      this.members.length = 0;
      this.batch = this.newCache();
    }
    return from;
  }

  private newCache(): LayeredCache {
    return new LayeredCache(this.session, this.graph);
  }

  /**
   * Moves rows into the batch if several with positions run together, because these must be contiguous; a single row
   * uses its own cache.
   */
  private prefillPast(rows: SplitRow[]): GraphTensor[] {
    if (rows.every((row) => row.length === 0)) return this.nothing.tensors(0, rows.length);
    const [only] = rows;
    if (rows.length === 1 && only?.cache) return only.cache.tensors(only.index, 1);
    const first = this.members.length;
    for (const row of rows) this.joinBatch(row, 0);
    return this.batch.tensors(first, rows.length);
  }

  /** Makes room for `more` positions. */
  private ensureCapacity(row: SplitRow, more: number, final: boolean): void {
    if (row.cache === this.batch) return this.fitBatch(this.members.length, grown(row, more));
    if (final) return this.joinBatch(row, more);
    row.cache ??= this.newCache();
    const { length, start } = grown(row, more);
    const { whole, windowed } = row.cache;
    if (whole.capacity >= length && windowed.capacity >= length - start) return;
    row.cache.resize(1, { whole: capacityFor(length), windowed: capacityFor(length - start) }, [row]);
  }

  private joinBatch(row: SplitRow, more: number): void {
    if (this.members.length === 0 && row.cache) return this.startBatch(row, row.cache, more);
    this.fitBatch(this.members.length + 1, grown(row, more));
    const target = { cache: this.batch, row: this.members.length };
    if (row.cache) {
      row.cache.copyRow(row.index, target, row);
      row.cache.free();
    }
    row.cache = this.batch;
    row.index = target.row;
    this.members.push(row);
  }

  /** A lone row keeps its cache, which becomes that of the batch, so that its memory is not taken twice. */
  private startBatch(row: SplitRow, cache: LayeredCache, more: number): void {
    this.batch.free();
    this.batch = cache;
    row.index = 0;
    this.members.push(row);
    this.fitBatch(1, grown(row, more));
  }

  private leaveBatch(row: SplitRow): void {
    const last = this.members.pop();
    // An empty batch frees its memory; the next row starts with a small one.
    if (this.members.length === 0) return this.batch.free();
    if (last && last !== row) {
      this.batch.copyRow(last.index, { cache: this.batch, row: row.index }, last);
      last.index = row.index;
      this.members[row.index] = last;
    }
    // Rows that end are kept for later prompts, and should not take their memory twice.
    if (this.members.length * 2 <= this.batch.rows) this.batch.fit(this.members.length, this.members, this.members);
  }

  /** Sizes the batch for `rows` rows: those that it has, and what some of them are to have. */
  private fitBatch(rows: number, ...wanted: Span[]): void {
    // By halves, as rows that leave give the memory back once half of them are unused.
    const larger = Math.max(rows, Math.ceil(this.batch.rows * 1.5));
    const allocated = this.batch.rows >= rows ? this.batch.rows : Math.min(this.slots, larger);
    this.lastDecode = null;
    this.batch.fit(Math.max(rows, allocated), [...this.members, ...wanted], this.members);
  }

  private append(row: SplitRow, fresh: FreshPositions, batchIndex: number, count: number): void {
    if (!row.cache) throw new RangeError('A row without a cache cannot take tokens.');
    row.cache.append(fresh, { batchIndex, row: row.index, count }, row);
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
      past_lens: this.session.tensor(
        'int64',
        BigInt64Array.from(input.spans, ({ length }) => BigInt(length)),
        [batch],
      ),
      last_index: this.session.tensor('int64', last, [batch]),
    };
    if (this.window !== null) {
      const starts = BigInt64Array.from(input.spans, ({ start }) => BigInt(start));
      feeds['window_starts'] = this.session.tensor('int64', starts, [batch]);
    }
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
    if (this.lastLogits !== null) freeBytes(this.lastLogits);
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

function grown({ length, start }: Span, more: number): Span {
  return { length: length + more, start };
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
