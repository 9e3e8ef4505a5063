import { keptStates, windowCacheLimits } from '#model-memory';
import { freeBytes } from '#platform/memory';
import type { SplitGraph } from '../runtime/decoder-graph.js';
import type { GraphSession, GraphTensor } from '../runtime/graph-session.js';
import type { LogitsBatch } from '../sampling/logits-batch.js';
import { capacityFor } from './cache-block.js';
import type { CacheRow, DecodePart, Decoder, LogitsNeeded, PrefillPart } from './decoder.js';
import { type FreshPositions, heldInWindow, LayeredCache } from './layered-cache.js';
import { minimumReuse } from './prefix-store.js';
import { RowStates, stateSize } from './row-states.js';
import { type KeptWindow, SplitRow } from './split-row.js';
import { type RunInput, type RunResult, SplitRunner } from './split-runner.js';
import { type Span, type WindowLimits, windowStart } from './window-positions.js';

/** Maximum number of rows in a prefill run; these are short prompts, so more would mostly add padding. */
const maxSharedRows = 16;

/**
 * Runs the split graph. Rows of the running batch are contiguous in one cache: the last row fills any gap. Prompts of
 * several chunks have a separate cache until they are complete, so they neither widen the batch nor pay for its width.
 * Before a run, layers with a window drop what no later token sees. Layers that do not attend have a state per row,
 * which is replaced by each run of the row.
 */
export class SplitDecoder implements Decoder {
  readonly kind = 'split';
  readonly vocabularySize: number;
  readonly topSize: number;
  readonly hasLogSumExp: boolean;
  readonly givesWanted: boolean;
  readonly maxPrefillRows = maxSharedRows;
  readonly prefixGrain = 1;
  readonly needsWholeMedia: boolean;
  readonly takesDrafts: boolean;

  private batch: LayeredCache;
  private readonly members: SplitRow[] = [];
  /** Cache input of rows without a past. */
  private readonly nothing: LayeredCache;
  private readonly window: KeptWindow | null;
  private readonly states: RowStates;
  private readonly runner: SplitRunner;
  /** Parts that match the cache: valid between a decode step and the next change, while the layout is fixed. */
  private lastDecode: (Pick<RunResult, 'feeds' | 'pastStates'> & { rowIndexes: Int32Array }) | null = null;
  /** Positions that the last decode step computed, while rows may take those of their drafts. */
  private drafted: { fresh: FreshPositions; next: Map<SplitRow, { batchIndex: number; step: number }> } | null = null;

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
    this.needsWholeMedia = graph.seesWholeImages;
    // A state cannot be taken from the middle of a run.
    this.takesDrafts = graph.picksLogits && graph.states.length === 0;
    const windows = graph.caches.flatMap(({ window }) => window ?? []);
    this.window = windows.length === 0 ? null : { ...limits, size: Math.max(...windows) };
    const stateBytes = graph.states.reduce((sum, state) => sum + stateSize(state) * Float32Array.BYTES_PER_ELEMENT, 0);
    this.states = new RowStates(session, graph.states, keptStates(stateBytes, slots));
    this.runner = new SplitRunner(session, graph, this.states);
    this.batch = this.newCache();
    this.nothing = this.newCache();
    this.nothing.resize(maxSharedRows, { whole: 1, windowed: 1 }, []);
  }

  get cacheElementsFed(): number {
    return this.runner.cacheElementsFed;
  }

  get runMs(): number {
    return this.runner.runMs;
  }

  openRow(adapter = 0): CacheRow {
    return new SplitRow(this.window, adapter, this.hasStates);
  }

  private get hasStates(): boolean {
    return this.graph.states.length > 0;
  }

  copyPrefix({ from, to, length }: { from: CacheRow; to: CacheRow; length: number }): void {
    const source = ownRow(from);
    const target = ownRow(to);
    if (source.adapter !== target.adapter) throw new RangeError('The rows belong to different adapters.');
    if (!source.cache) return;
    const start = this.window === null ? 0 : windowStart(length, this.window.size, this.window);
    const cache = this.newCache();
    cache.resize(1, { whole: capacityFor(length), windowed: capacityFor(length - start) }, []);
    source.cache.copyWhole(source.index, { cache, row: 0 }, length);
    source.copyWindow({ start, length }, cache.windowed);
    const state = source.stateAt(length);
    if (this.hasStates && state === null) throw new RangeError('The row has no state at this position.');
    target.hold({ cache, head: null, tail: null, length, start });
    target.state = state;
    this.states.share(source.snapshots, target.snapshots, length);
    if (target.headLength === 0) return;
    target.head = cache.windowed.newRow(target.headLength);
    source.copyWindow({ start: 0, length: target.headLength }, target.head);
  }

  async prefill(parts: readonly PrefillPart[], wanted: LogitsNeeded): Promise<LogitsBatch> {
    // They run in the batch, where each row must have a token at every step.
    if (parts.length > 1 && parts.some((part) => !part.final)) throw new RangeError('Only last parts may share a run.');
    const rows = parts.map((part) => ownRow(part.row));
    for (const row of rows) row.dropUnseen();
    // A prefix of another prompt may have had other images.
    parts.forEach(({ media }, index) => ((rows[index] as SplitRow).shift = media?.rotary?.shift ?? 0));
    const past = this.prefillPast(rows);
    const result = await this.runFresh(
      {
        tokenIds: parts.map((part) => part.tokenIds),
        rows,
        past,
        rowIndexes: Int32Array.from(parts, (_, index) => index),
        media: parts.map(({ media }) => media),
      },
      wanted,
    );
    result.pastStates.release();
    parts.forEach((part, index) => {
      const row = ownRow(part.row);
      this.ensureCapacity(row, part.tokenIds.length, part.final);
      this.append(row, result.fresh, { batchIndex: index, count: part.tokenIds.length });
      if (part.final) row.promptLength = row.length;
    });
    this.takeStates(rows, result);
    for (const row of rows) this.keepState(row);
    freeBytes(result.fresh.data);
    return result.logits;
  }

  async extend(cacheRow: CacheRow, tokenIds: Int32Array): Promise<void> {
    const row = ownRow(cacheRow);
    if (row.cache !== this.batch) throw new RangeError('Only rows of the running batch are extended.');
    row.dropUnseen();
    const past = this.batch.tensors(row.index, 1);
    const input = { tokenIds: [tokenIds], rows: [row], past, rowIndexes: Int32Array.of(0) };
    const result = await this.runFresh(input, 'none');
    result.pastStates.release();
    this.fitBatch(this.members.length, grown(row, tokenIds.length));
    this.append(row, result.fresh, { batchIndex: 0, count: tokenIds.length });
    this.takeStates([row], result);
    freeBytes(result.fresh.data);
  }

  async decode(parts: readonly DecodePart[], wanted: LogitsNeeded): Promise<LogitsBatch> {
    if (parts.length !== this.members.length) throw new RangeError('A decode step must name every row of the batch.');
    for (const row of this.members) row.dropUnseen();
    this.fitBatch(this.members.length, ...this.members.map((row) => grown(row, 1)));
    const rows = parts.map((part) => ownRow(part.row));
    const tokenIds: number[][] = new Array(parts.length);
    const wantedIds: (readonly number[])[] = new Array(parts.length);
    const hasDrafts = parts.some(({ draft }) => draft !== undefined);
    if (hasDrafts && !this.takesDrafts) throw new RangeError('The graph takes no drafts.');
    parts.forEach((part, index) => {
      const place = rows[index]?.index ?? 0;
      tokenIds[place] = [part.tokenId, ...(part.draft ?? [])];
      wantedIds[place] = part.wantedIds ?? [];
    });
    const rowIndexes = Int32Array.from(rows, (row) => row.index);
    const result = await this.runFresh(
      {
        tokenIds,
        rows: this.members,
        past: this.batch.tensors(0, this.members.length),
        rowIndexes,
        wantedIds,
        ...(hasDrafts && { logitCounts: tokenIds.map(({ length }) => length) }),
      },
      wanted,
    );
    // Rows are contiguous, so one that sits out is computed as well, and its position and state dropped.
    const takes = this.members.map(() => true);
    parts.forEach(({ sitsOut = false }, index) => {
      const row = rows[index];
      if (row === undefined) return;
      if (sitsOut) takes[row.index] = false;
      else this.append(row, result.fresh, { batchIndex: row.index, count: 1 });
    });
    this.takeStates(this.members, result, takes);
    if (hasDrafts) {
      const next = this.members.map((row, batchIndex) => [row, { batchIndex, step: 1 }] as const);
      this.drafted = { fresh: result.fresh, next: new Map(next) };
    } else freeBytes(result.fresh.data);
    const { feeds, pastStates, logits } = result;
    this.lastDecode = { feeds, pastStates, rowIndexes: logits.rowIndexes };
    return logits;
  }

  takeDrafted(cacheRow: CacheRow): void {
    const row = ownRow(cacheRow);
    const place = this.drafted?.next.get(row);
    if (!this.drafted || !place) throw new RangeError('The row has no draft.');
    this.fitBatch(this.members.length, grown(row, 1));
    this.append(row, this.drafted.fresh, { ...place, count: 1 });
    place.step++;
  }

  async repeatForLogits(): Promise<LogitsBatch> {
    if (!this.lastDecode) throw new RangeError('There is no decode step to repeat.');
    const { feeds, rowIndexes } = this.lastDecode;
    return await this.runner.repeat(feeds, rowIndexes);
  }

  retain(row: CacheRow): CacheRow {
    const source = ownRow(row);
    const kept = new SplitRow(this.window, source.adapter, this.hasStates);
    if (source.cache && source.length > 0) {
      const cache = this.takeCache(source, source.cache);
      const { length, start, head, tail } = source;
      kept.hold({ cache, head, tail, length, start });
      this.keepState(source);
      kept.snapshots = source.snapshots;
      source.snapshots = [];
    }
    this.release(row);
    return kept;
  }

  release(row: CacheRow, tainted = false): void {
    const disconnected = ownRow(row);
    if (disconnected.cache === this.batch) this.leaveBatch(disconnected);
    else disconnected.cache?.free();
    disconnected.hold({ cache: null, head: null, tail: null, length: 0, start: 0 });
    disconnected.state?.release();
    disconnected.state = null;
    for (const snapshot of disconnected.snapshots.splice(0)) this.states.drop(snapshot);
    this.forgetDecode();
    if (tainted && this.batch.rows > 0) this.batch.scrub(this.members);
  }

  async close(): Promise<void> {
    this.members.length = 0;
    this.forgetDecode();
    this.forgetDrafted();
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

  /** Gives the rows of a run the states behind it, but for those that do not take them. */
  private takeStates(rows: readonly SplitRow[], { outputs }: RunResult, takes = rows.map(() => true)): void {
    if (!this.hasStates) return;
    const states = this.states.read(outputs, takes);
    rows.forEach((row, index) => {
      const state = states[index];
      if (!state) return;
      row.state?.release();
      row.state = state;
    });
  }

  /** Keeps the state of a row for later prompts, at the end of a chunk, of the prompt or of the row. */
  private keepState(row: SplitRow): void {
    if (row.state !== null && row.length >= minimumReuse) this.states.addTo(row.snapshots, row.length, row.state);
  }

  private async runFresh(input: RunInput, wanted: LogitsNeeded): Promise<RunResult> {
    this.forgetDecode();
    this.forgetDrafted();
    return await this.runner.run(input, wanted);
  }

  private forgetDrafted(): void {
    if (this.drafted) freeBytes(this.drafted.fresh.data);
    this.drafted = null;
  }

  /** Ends the time in which the last decode step can be repeated. */
  private forgetDecode(): void {
    this.lastDecode?.pastStates.release();
    this.lastDecode = null;
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
    this.forgetDecode();
    this.batch.fit(Math.max(rows, allocated), [...this.members, ...wanted], this.members);
  }

  private append(
    row: SplitRow,
    fresh: FreshPositions,
    part: { batchIndex: number; step?: number; count: number },
  ): void {
    if (!row.cache) throw new RangeError('A row without a cache cannot take tokens.');
    row.cache.append(fresh, { ...part, row: row.index }, row);
    row.length += part.count;
  }
}

function grown({ length, start }: Span, more: number): Span {
  return { length: length + more, start };
}

function ownRow(row: CacheRow): SplitRow {
  if (row instanceof SplitRow) return row;
  throw new TypeError('The row belongs to another decoder.');
}
