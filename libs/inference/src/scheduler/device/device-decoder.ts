import type { DeviceGraph } from '../../runtime/decoder-graph.js';
import type { GraphDevice, GraphSession } from '../../runtime/graph-session.js';
import type { LogitsBatch } from '../../sampling/logits-batch.js';
import { capacityFor } from '../cache-block.js';
import type { CacheRow, DecodePart, Decoder, LogitsNeeded, PrefillPart } from '../decoder.js';
import { CacheCopier, type DeviceCache } from './cache-copier.js';
import { DeviceRow } from './device-row.js';
import { DeviceRunner, type RunRow } from './device-runner.js';
import { findPieceLength, safePiece } from './piece-length.js';

/**
 * Runs a graph whose cache stays on the device and is written in place. A prompt has a cache of its own, because the
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
  private readonly runner: DeviceRunner;
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

  constructor(
    private readonly session: GraphSession,
    private readonly device: GraphDevice,
    private readonly graph: DeviceGraph,
  ) {
    const { vocabularySize, topSize, hasLogSumExp, givesWanted, caches, kvHeads, headDim, cacheType: type } = graph;
    [this.vocabularySize, this.topSize] = [vocabularySize, topSize];
    [this.hasLogSumExp, this.givesWanted] = [hasLogSumExp, givesWanted];
    this.copier = new CacheCopier(device, { tensors: caches.length, kvHeads, headDim, type });
    this.runner = new DeviceRunner(session, device, graph);
  }

  get runMs(): number {
    return this.runner.runMs;
  }

  openRow(adapter = 0): CacheRow {
    return new DeviceRow(adapter);
  }

  copyPrefix({ from, to, length }: { from: CacheRow; to: CacheRow; length: number }): void {
    const source = ownRow(from);
    const target = ownRow(to);
    if (source.adapter !== target.adapter) throw new RangeError('The rows belong to different adapters.');
    if (length > source.length) throw new RangeError('The row is shorter than the prefix.');
    this.borrow(target, source);
    target.length = length;
  }

  async prefill(parts: readonly PrefillPart[], wanted: LogitsNeeded): Promise<LogitsBatch> {
    const [part, ...others] = parts;
    if (part === undefined || others.length > 0) throw new RangeError('Prompts are computed one at a time.');
    const row = ownRow(part.row);
    await this.settle();
    const cache = await this.ownCache(row, part.tokenIds.length);
    const batch = await this.read(cache, row, part.tokenIds, wanted);
    if (part.final) await this.join(row, part.tokenIds.length);
    row.length += part.tokenIds.length;
    return batch;
  }

  async extend(cacheRow: CacheRow, tokenIds: Int32Array): Promise<void> {
    const row = ownRow(cacheRow);
    await this.settle();
    if (this.batch === null || row.slot === null) throw new RangeError('Only rows of the running batch are extended.');
    if (this.batch.rows === 1) {
      const batch = await this.fitBatch(row.length + tokenIds.length);
      await this.read(batch, row, tokenIds, 'none');
    } else {
      const capacity = capacityFor(row.length + tokenIds.length);
      const alone = await this.copier.pick(this.batch, { rows: [row.slot], length: row.length, capacity });
      try {
        await this.read(alone, row, tokenIds, 'none');
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
    parts.forEach(({ tokenId, wantedIds }, index) => {
      const row = rows[index] as DeviceRow;
      inputs[row.slot ?? 0] = { ...inputOf(row), tokenIds: [tokenId], wantedIds };
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
    const kept = new DeviceRow(source.adapter);
    kept.length = source.length;
    if (source.cache !== null) [kept.cache, source.cache] = [source.cache, null];
    else if (source.slot !== null && this.members.length === 1) {
      this.runner.forget();
      [kept.cache, this.batch] = [this.batch, null];
      [this.members, source.slot] = [[], null];
    } else this.borrow(kept, source);
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
    row.length = 0;
  }

  async close(): Promise<void> {
    for (const row of this.borrowers) this.endBorrowing(row);
    for (const row of this.members) if (row !== null) row.slot = null;
    this.freeBatch();
    await this.copier.close();
    await this.session.release();
  }

  /** Computes tokens of a row in runs that the device computes right. */
  private async read(
    cache: DeviceCache,
    row: DeviceRow,
    tokenIds: Int32Array,
    wanted: LogitsNeeded,
  ): Promise<LogitsBatch> {
    const most = tokenIds.length > safePiece ? await this.findPieceLength() : safePiece;
    let start = 0;
    for (; tokenIds.length - start > most; start += most) {
      const piece = tokenIds.subarray(start, start + most);
      await this.runner.read(cache, { ...inputOf(row), length: row.length + start, tokenIds: piece }, 'none');
    }
    const last = tokenIds.subarray(start);
    return await this.runner.read(cache, { ...inputOf(row), length: row.length + start, tokenIds: last }, wanted);
  }

  private async findPieceLength(): Promise<number> {
    const { device, session, graph } = this;
    return await (this.pieceLength ??= findPieceLength({ ...graph, device, provider: session.provider }));
  }

  /** Lets a row have the positions of another one, until they are copied. */
  private borrow(target: DeviceRow, source: DeviceRow): void {
    const from = source.borrowed ?? ownedBy(source, this.batch);
    if (from === null || source.length === 0) return;
    target.borrowed = { cache: from.cache.share(), slot: from.slot };
    this.borrowers.add(target);
  }

  private endBorrowing(row: DeviceRow): void {
    if (row.borrowed !== null) this.forget(row.borrowed.cache);
    row.borrowed = null;
    this.borrowers.delete(row);
  }

  /** Copies what rows have borrowed: a run may write there. */
  private async settle(): Promise<void> {
    for (const row of this.borrowers) {
      const { borrowed, length } = row;
      if (borrowed === null) continue;
      const { cache, slot } = borrowed;
      row.cache = await this.copier.pick(cache, { rows: [slot], length, capacity: capacityFor(length) });
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

function inputOf({ length, adapter }: DeviceRow): Pick<RunRow, 'length' | 'adapter'> {
  return { length, adapter };
}

function ownedBy(row: DeviceRow, batch: DeviceCache | null): { cache: DeviceCache; slot: number } | null {
  if (row.cache !== null) return { cache: row.cache, slot: 0 };
  return row.slot === null || batch === null ? null : { cache: batch, slot: row.slot };
}

function ownRow(row: CacheRow): DeviceRow {
  if (row instanceof DeviceRow) return row;
  throw new TypeError('The row belongs to another decoder.');
}
