import { keptStates } from '#model-memory';
import type { DeviceGraph, SplitGraph } from '../../runtime/decoder-graph.js';
import type { GraphDevice, GraphSession } from '../../runtime/graph-session.js';
import type { LogitsBatch } from '../../sampling/logits-batch.js';
import { capacityFor } from '../cache-block.js';
import type { CacheRow, DecodePart, Decoder, LogitsNeeded, PrefillPart } from '../decoder.js';
import { CacheCopier, type DeviceCache } from './cache-copier.js';
import { minimumReuse } from '../prefix-store.js';
import { stateSize } from '../row-states.js';
import { DeviceRow } from './device-row.js';
import { type CacheRunner, DeviceRunner, type RunRow } from './device-runner.js';
import { findPieceLength, safePiece } from './piece-length.js';
import { ResidentRunner, cacheSizes } from './resident-runner.js';
import { ResidentSnapshots, ResidentState, type ResidentStates } from './resident-states.js';

/** The differences between graphs that write their cache and those whose caches and states are replaced beside them. */
interface DeviceParts {
  graph: DeviceGraph | SplitGraph;
  copier: CacheCopier;
  runner: CacheRunner;
  /** Returns how many tokens of a prompt a run may take. */
  findPieceLength: () => Promise<number>;
  /** Null without layers that have states. */
  snapshots: ResidentSnapshots | null;
}

/**
 * Runs a graph whose caches and states stay on the device. A prompt has a cache of its own, because the
 * operator takes several tokens of one row at a time only; with its last part it joins the batch, in which every row takes one
 * token per run. A row that leaves frees its slot, and costs nothing. Copies between caches are made on the device, and those
 * that other methods order, before the next run.
 */
export class DeviceDecoder implements Decoder {
  readonly kind = 'device';
  readonly vocabularySize: number;
  readonly topSize: number;
  readonly hasLogSumExp: boolean;
  readonly givesWanted: boolean;
  readonly maxPrefillRows = 1;
  readonly prefixGrain = 1;
  /** The cache is never passed to the graph. */
  readonly cacheElementsFed = 0;

  private readonly copier: CacheCopier;
  private readonly runner: CacheRunner;
  private readonly snapshots: ResidentSnapshots | null;
  private batch: DeviceCache | null = null;
  /** By slot of the batch; null: free. */
  private members: (DeviceRow | null)[] = [];
  /** Rows whose positions must be copied before anything is written. */
  private readonly borrowers = new Set<DeviceRow>();
  /** A slot of the batch holds numbers that are not finite. */
  private isTainted = false;
  /** Slots of the rows of the last decode step, in the order of its parts. */
  private lastRows = new Int32Array(0);
  private pieceLength: Promise<number> | null = null;

  private constructor(
    private readonly session: GraphSession,
    private readonly parts: DeviceParts,
  ) {
    const { vocabularySize, topSize, hasLogSumExp, givesWanted } = parts.graph;
    [this.vocabularySize, this.topSize] = [vocabularySize, topSize];
    [this.hasLogSumExp, this.givesWanted] = [hasLogSumExp, givesWanted];
    ({ copier: this.copier, runner: this.runner, snapshots: this.snapshots } = parts);
  }

  /** For a graph that writes its cache in place. */
  static inPlace(session: GraphSession, device: GraphDevice, graph: DeviceGraph): DeviceDecoder {
    const { caches, kvHeads: heads, headDim: dimension, cacheType: type } = graph;
    return new DeviceDecoder(session, {
      graph,
      copier: new CacheCopier(device, { tensors: caches.map(() => ({ heads, dimension })), type }),
      runner: new DeviceRunner(session, device, graph),
      findPieceLength: () => findPieceLength({ ...graph, device, provider: session.provider }),
      snapshots: null,
    });
  }

  /** For a split graph with any caches and states. As many states are kept for later prompts as on the processor. */
  static resident(session: GraphSession, device: GraphDevice, graph: SplitGraph, slots: number): DeviceDecoder {
    const { states } = graph;
    const copier = new CacheCopier(device, { tensors: cacheSizes(graph), type: 'float32', states });
    const stateBytes = states.reduce((sum, state) => sum + stateSize(state) * Float32Array.BYTES_PER_ELEMENT, 0);
    return new DeviceDecoder(session, {
      graph,
      copier,
      runner: new ResidentRunner(session, device, graph, copier.states),
      findPieceLength: () => Promise.resolve(Infinity),
      snapshots: states.length === 0 ? null : new ResidentSnapshots(keptStates(stateBytes, slots)),
    });
  }

  get runMs(): number {
    return this.runner.runMs;
  }

  openRow(adapter = 0): CacheRow {
    return this.newRow(adapter);
  }

  copyPrefix({ from, to, length }: { from: CacheRow; to: CacheRow; length: number }): void {
    const source = ownRow(from);
    const target = ownRow(to);
    if (source.adapter !== target.adapter) throw new RangeError('The rows belong to different adapters.');
    if (length > source.length) throw new RangeError('The row is shorter than the prefix.');
    const state = source.stateAt(length);
    if (this.snapshots !== null && state === null) throw new RangeError('The row has no state at this position.');
    this.borrow(target, source, state);
    target.length = length;
    this.snapshots?.share(source.snapshots, target.snapshots, length);
  }

  async prefill(parts: readonly PrefillPart[], wanted: LogitsNeeded): Promise<LogitsBatch> {
    const [part, ...others] = parts;
    if (part === undefined || others.length > 0) throw new RangeError('Prompts are computed one at a time.');
    const row = ownRow(part.row);
    await this.settle();
    // A prefix of another prompt may have had other images.
    row.shift = part.media?.rotary?.shift ?? 0;
    const cache = await this.ownCache(row, part.tokenIds.length);
    const batch = await this.read(cache, row, part, wanted);
    const states = cache.states?.share();
    try {
      if (part.final) await this.join(row, part.tokenIds.length);
      row.length += part.tokenIds.length;
      if (states !== undefined) this.keepState(row, states, 0);
    } finally {
      states?.release();
    }
    return batch;
  }

  async extend(cacheRow: CacheRow, tokenIds: Int32Array): Promise<void> {
    const row = ownRow(cacheRow);
    await this.settle();
    if (this.batch === null || row.slot === null) throw new RangeError('Only rows of the running batch are extended.');
    if (this.batch.rows === 1) {
      const batch = await this.fitBatch(row.length + tokenIds.length);
      await this.read(batch, row, { tokenIds }, 'none');
    } else {
      const capacity = capacityFor(row.length + tokenIds.length);
      const alone = await this.copier.pick(this.batch, { rows: [row.slot], length: row.length, capacity });
      try {
        await this.read(alone, row, { tokenIds }, 'none');
      } catch (error) {
        this.forget(alone);
        throw error;
      }
      this.members[row.slot] = null;
      [row.slot, row.cache] = [null, alone];
      await this.join(row, tokenIds.length);
    }
    row.length += tokenIds.length;
  }

  async decode(parts: readonly DecodePart[], wanted: LogitsNeeded): Promise<LogitsBatch> {
    const rows = parts.map(({ row }) => ownRow(row));
    const live = this.members.filter((member) => member !== null);
    if (parts.length !== live.length) throw new RangeError('A decode step must name every row of the batch.');
    await this.settle();
    await this.dropFreeSlots();
    const batch = await this.fitBatch(Math.max(...rows.map(({ length }) => length)) + 1);
    const inputs: (RunRow | null)[] = this.members.map(() => null);
    parts.forEach(({ tokenId, wantedIds, sitsOut }, index) => {
      const row = rows[index] as DeviceRow;
      inputs[row.slot ?? 0] = { ...inputOf(row), tokenIds: [tokenId], wantedIds, sitsOut };
    });
    const result = await this.runner.decode(batch, inputs, wanted);
    // One that sits out was computed as well; its next token overwrites that position.
    parts.forEach(({ sitsOut = false }, index) => {
      if (!sitsOut) (rows[index] as DeviceRow).length += 1;
    });
    this.lastRows = Int32Array.from(rows, ({ slot }) => slot ?? 0);
    return { ...result, rowIndexes: this.lastRows };
  }

  /** Computes nothing: the logits are still on the device. */
  repeatForLogits(): Promise<LogitsBatch> {
    return Promise.resolve({ ...this.runner.repeat(), rowIndexes: this.lastRows });
  }

  retain(row: CacheRow): CacheRow {
    const source = ownRow(row);
    const kept = this.newRow(source.adapter);
    kept.length = source.length;
    const held = ownedBy(source, this.batch);
    if (held?.cache.states) this.keepState(source, held.cache.states, held.slot);
    [kept.snapshots, source.snapshots] = [source.snapshots, []];
    if (source.cache !== null) [kept.cache, source.cache] = [source.cache, null];
    else if (source.slot !== null && this.members.length === 1) {
      this.runner.forget();
      [kept.cache, this.batch] = [this.batch, null];
      [this.members, source.slot] = [[], null];
    } else this.borrow(kept, source, null);
    // Within the limits of snapshots: the row itself does not go on.
    kept.cache?.replaceStates(null);
    this.release(row);
    return kept;
  }

  release(cacheRow: CacheRow, tainted = false): void {
    const row = ownRow(cacheRow);
    if (row.slot !== null) {
      this.members[row.slot] = null;
      row.slot = null;
      this.isTainted ||= tainted;
      if (this.members.every((member) => member === null)) this.freeBatch();
    }
    if (row.cache !== null) this.forget(row.cache);
    row.cache = null;
    this.endBorrowing(row);
    for (const snapshot of row.snapshots.splice(0)) this.snapshots?.drop(snapshot);
    row.length = 0;
  }

  async close(): Promise<void> {
    for (const row of this.borrowers) this.endBorrowing(row);
    for (const row of this.members) if (row !== null) row.slot = null;
    this.freeBatch();
    await this.runner.close();
    await this.copier.close();
    await this.session.release();
  }

  /** Computes tokens of a row in runs that the device computes right. */
  private async read(
    cache: DeviceCache,
    row: DeviceRow,
    { tokenIds, media }: Pick<PrefillPart, 'tokenIds' | 'media'>,
    wanted: LogitsNeeded,
  ): Promise<LogitsBatch> {
    const most = tokenIds.length > safePiece ? await this.findPieceLength() : safePiece;
    const inputAt = (start: number, end?: number) => {
      const input = { ...inputOf(row), media, length: row.length + start };
      return { ...input, tokenIds: tokenIds.subarray(start, end) };
    };
    let start = 0;
    for (; tokenIds.length - start > most; start += most) {
      await this.runner.read(cache, inputAt(start, start + most), 'none');
    }
    return await this.runner.read(cache, inputAt(start), wanted);
  }

  private async findPieceLength(): Promise<number> {
    return await (this.pieceLength ??= this.parts.findPieceLength());
  }

  private newRow(adapter: number): DeviceRow {
    return new DeviceRow(adapter, this.snapshots !== null);
  }

  /** Keeps the state of a row for later prompts, at the end of a chunk, of the prompt or of the row. */
  private keepState(row: DeviceRow, states: ResidentStates, slot: number): void {
    if (this.snapshots === null || row.length < minimumReuse) return;
    const state = new ResidentState(states.share(), slot);
    this.snapshots.addTo(row.snapshots, row.length, state);
    state.release();
  }

  /** Lets a row have the positions of another one, until they are copied, and a state behind them. */
  private borrow(target: DeviceRow, source: DeviceRow, state: ResidentState | null): void {
    const from = source.borrowed ?? ownedBy(source, this.batch);
    if (from === null || source.length === 0) return state?.release();
    target.borrowed = { cache: from.cache.share(), slot: from.slot, state };
    this.borrowers.add(target);
  }

  private endBorrowing(row: DeviceRow): void {
    if (row.borrowed !== null) this.forget(row.borrowed.cache);
    row.borrowed?.state?.release();
    row.borrowed = null;
    this.borrowers.delete(row);
  }

  /** Copies what rows have borrowed: a run may write there. */
  private async settle(): Promise<void> {
    if (this.copier.states !== null) await this.snapshots?.settle(this.copier.states);
    for (const row of this.borrowers) {
      const { borrowed, length } = row;
      if (borrowed === null) continue;
      const { cache, slot, state } = borrowed;
      row.cache = await this.copier.pickPrefix(cache, { slot, length, capacity: capacityFor(length) }, state);
      this.endBorrowing(row);
    }
  }

  /** The cache of a row outside of the batch, with room for `more` positions. */
  private async ownCache(row: DeviceRow, more: number): Promise<DeviceCache> {
    const capacity = capacityFor(row.length + more);
    const known = row.cache;
    if (known !== null && known.capacity >= capacity) return known;
    row.cache =
      known === null
        ? await this.copier.empty(capacity)
        : await this.copier.pick(known, { rows: [0], length: row.length, capacity });
    if (known !== null) this.forget(known);
    return row.cache;
  }

  /** Takes a row into the batch, in which it will have `more` positions. */
  private async join(row: DeviceRow, more: number): Promise<void> {
    const { cache } = row;
    if (cache === null) throw new RangeError('A row without a cache cannot join the batch.');
    const slots = this.liveSlots();
    if (this.batch === null || slots.length === 0) {
      this.freeBatch();
      [this.batch, this.members] = [cache, [row]];
    } else {
      const rows = [...slots, this.batch.rows];
      const capacity = Math.max(this.batch.capacity, cache.capacity, capacityFor(row.length + more));
      this.replaceBatch(await this.copier.join(this.batch, cache, { rows, capacity }), [
        ...slots.map((slot) => this.members[slot] ?? null),
        row,
      ]);
      this.forget(cache);
    }
    [row.cache, row.slot] = [null, this.members.length - 1];
  }

  /** Half of the slots at most are free, so that a run computes little for nothing; a tainted one goes at once. */
  private async dropFreeSlots(): Promise<void> {
    const slots = this.liveSlots();
    if (this.batch === null || (slots.length * 2 > this.members.length && !this.isTainted)) return;
    const { capacity } = this.batch;
    const picked = await this.copier.pick(this.batch, { rows: slots, length: capacity, capacity });
    this.replaceBatch(
      picked,
      slots.map((slot) => this.members[slot] ?? null),
    );
  }

  private async fitBatch(length: number): Promise<DeviceCache> {
    const { batch } = this;
    if (batch === null) throw new RangeError('The batch has no rows.');
    if (batch.capacity >= length) return batch;
    const rows = this.members.map((_, slot) => slot);
    const grown = await this.copier.pick(batch, { rows, length: batch.capacity, capacity: capacityFor(length) });
    this.replaceBatch(grown, this.members);
    return grown;
  }

  private replaceBatch(batch: DeviceCache, members: (DeviceRow | null)[]): void {
    this.freeBatch();
    [this.batch, this.members] = [batch, members];
    members.forEach((member, slot) => {
      if (member !== null) member.slot = slot;
    });
  }

  private liveSlots(): number[] {
    return this.members.flatMap((member, slot) => (member === null ? [] : [slot]));
  }

  private freeBatch(): void {
    if (this.batch !== null) this.forget(this.batch);
    [this.batch, this.members, this.isTainted] = [null, [], false];
  }

  /** Bindings name the tensors of a cache, so they go first. */
  private forget(cache: DeviceCache): void {
    this.runner.forget();
    cache.release();
  }
}

function inputOf({ length, adapter, shift }: DeviceRow): Pick<RunRow, 'length' | 'adapter' | 'shift'> {
  return { length, adapter, shift };
}

function ownedBy(row: DeviceRow, batch: DeviceCache | null): { cache: DeviceCache; slot: number } | null {
  if (row.cache !== null) return { cache: row.cache, slot: 0 };
  return row.slot === null || batch === null ? null : { cache: batch, slot: row.slot };
}

function ownRow(row: CacheRow): DeviceRow {
  if (row instanceof DeviceRow) return row;
  throw new TypeError('The row belongs to another decoder.');
}
