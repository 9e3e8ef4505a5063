import { freeBytes } from '#platform/memory';
import type { CacheSizes, StateNames } from '../../runtime/decoder-graph.js';
import { type GraphDevice, type GraphSession, type KeptTensor, runKept } from '../../runtime/graph-session.js';
import { type ResidentState, type ResidentStates, StateCopier } from './resident-states.js';

export interface CacheShape {
  /** The sizes of each tensor of a cache: heads, and the numbers of each position. */
  tensors: readonly CacheSizes[];
  type: 'float32' | 'float16' | 'int8';
  /** States of layers that do not attend; absent: there are none. */
  states?: readonly StateNames[];
}

/**
 * Keys and values of some rows on the device, one tensor per cache input, and the states of the rows behind them. Shared
 * by their holders.
 */
export class DeviceCache {
  private holders = 1;

  constructor(
    readonly tensors: readonly KeptTensor[],
    readonly rows: number,
    readonly capacity: number,
    private ownStates: ResidentStates | null = null,
  ) {}

  /** Null without layers that have one, and for rows that do not go on. */
  get states(): ResidentStates | null {
    return this.ownStates;
  }

  replaceStates(states: ResidentStates | null): void {
    this.ownStates?.release();
    this.ownStates = states;
  }

  share(): DeviceCache {
    this.holders += 1;
    return this;
  }

  release(): void {
    this.holders -= 1;
    if (this.holders > 0) return;
    for (const tensor of this.tensors) tensor.release();
    this.replaceStates(null);
  }
}

/** The first positions of rows, and the room that a copy of them has. */
export interface PickedRows {
  rows: readonly number[];
  length: number;
  capacity: number;
}

/** Copies rows of caches on the device, by small graphs beside that of the model. */
export class CacheCopier {
  private picking: Promise<GraphSession> | null = null;
  private joining: Promise<GraphSession> | null = null;
  /** One position of zeros by its sizes, from which caches without positions are made. */
  private readonly zeros = new Map<string, KeptTensor>();
  /** Null without states. */
  readonly states: StateCopier | null;

  constructor(
    private readonly device: GraphDevice,
    private readonly shape: CacheShape,
  ) {
    const { states = [] } = shape;
    this.states = states.length === 0 ? null : new StateCopier(device, states);
  }

  /** Returns a cache of one row whose positions are zeros: memory of the device may hold anything. */
  async empty(capacity: number): Promise<DeviceCache> {
    const source: KeptTensor[] = [];
    for (const sizes of this.shape.tensors) source.push(await this.zerosOf(sizes));
    const tensors = await this.pickFrom(source, { rows: [0], length: 1, capacity });
    return new DeviceCache(tensors, 1, capacity, (await this.states?.empty()) ?? null);
  }

  /** Returns copies of rows, with zeros behind their first positions. */
  async pick(from: DeviceCache, picked: PickedRows): Promise<DeviceCache> {
    const { rows, capacity } = picked;
    const tensors = await this.pickFrom(from.tensors, picked);
    const states = from.states && (await this.states?.pick(from.states, rows));
    return new DeviceCache(tensors, rows.length, capacity, states);
  }

  /** Returns a copy of the beginning of a row with the state behind it; null: the row does not go on. */
  async pickPrefix(
    from: DeviceCache,
    { slot, length, capacity }: { slot: number; length: number; capacity: number },
    state: ResidentState | null,
  ): Promise<DeviceCache> {
    const tensors = await this.pickFrom(from.tensors, { rows: [slot], length, capacity });
    const states = state && (await this.states?.pick(state.states, [state.slot]));
    return new DeviceCache(tensors, 1, capacity, states);
  }

  /**
   * Returns the rows of one cache and those of another behind them, in the order of `rows`. Neither may have more
   * positions than the result.
   */
  async join(
    one: DeviceCache,
    other: DeviceCache,
    { rows, capacity }: Omit<PickedRows, 'length'>,
  ): Promise<DeviceCache> {
    const session = await this.joiner();
    const joined: KeptTensor[] = [];
    try {
      // Key and value of one layer at once: more would need the memory of more layers twice.
      for (const [index, tensor] of one.tensors.entries()) {
        const feeds = {
          rows: session.tensor('int64', BigInt64Array.from(rows, BigInt), [rows.length]),
          pads_a: padsOf(session, capacity - one.capacity),
          pads_b: padsOf(session, capacity - other.capacity),
          'a.0': tensor,
          'b.0': other.tensors[index] as KeptTensor,
        };
        joined.push(...(await runKept(session, feeds, ['y.0'])));
      }
    } catch (error) {
      for (const tensor of joined) tensor.release();
      throw error;
    }
    const states = one.states && other.states && (await this.states?.join(one.states, other.states, rows));
    return new DeviceCache(joined, rows.length, capacity, states);
  }

  async close(): Promise<void> {
    for (const zeros of this.zeros.values()) zeros.release();
    this.zeros.clear();
    await this.states?.close();
    for (const session of [this.picking, this.joining]) await (await session)?.release();
    this.picking = this.joining = null;
  }

  private async pickFrom(source: readonly KeptTensor[], picked: PickedRows): Promise<KeptTensor[]> {
    if (source.length === 0) return [];
    const { rows, length, capacity } = picked;
    const session = await this.picker();
    const feeds = {
      rows: session.tensor('int64', BigInt64Array.from(rows, BigInt), [rows.length]),
      length: session.tensor('int64', BigInt64Array.of(BigInt(length)), [1]),
      pads: padsOf(session, capacity - length),
      ...Object.fromEntries(source.map((tensor, index) => [`x.${index}`, tensor])),
    };
    const names = source.map((_, index) => `y.${index}`);
    return await runKept(session, feeds, names);
  }

  private async zerosOf({ heads, dimension }: CacheSizes): Promise<KeptTensor> {
    const name = `${heads} x ${dimension}`;
    const known = this.zeros.get(name);
    if (known !== undefined) return known;
    const { type } = this.shape;
    const session = await this.joiner();
    const values = new arrays[type](heads * dimension);
    const zeros = session.tensor(type, values, [1, heads, 1, dimension]);
    const nothing = padsOf(session, 0);
    const first = session.tensor('int64', BigInt64Array.of(0n), [1]);
    const feeds = { rows: first, pads_a: nothing, pads_b: nothing, 'a.0': zeros, 'b.0': zeros };
    const [made] = await runKept(session, feeds, ['y.0']);
    freeBytes(values);
    this.zeros.set(name, made as KeptTensor);
    return made as KeptTensor;
  }

  private async picker(): Promise<GraphSession> {
    return await (this.picking ??= import('#model-store/device').then(({ pickRowsGraph }) =>
      this.device.openBeside(pickRowsGraph(this.shape.tensors.length, this.shape.type)),
    ));
  }

  private async joiner(): Promise<GraphSession> {
    return await (this.joining ??= import('#model-store/device').then(({ joinRowsGraph }) =>
      this.device.openBeside(joinRowsGraph(1, this.shape.type)),
    ));
  }
}

const arrays = { float32: Float32Array, float16: Uint16Array, int8: Int8Array };

/** Positions to add behind those of `[rows, heads, positions, size]`, as the operator Pad takes them. */
function padsOf(session: GraphSession, positions: number) {
  return session.tensor('int64', BigInt64Array.of(0n, 0n, 0n, 0n, 0n, 0n, BigInt(positions), 0n), [8]);
}
