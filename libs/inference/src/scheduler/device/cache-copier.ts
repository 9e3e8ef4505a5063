import { freeBytes } from '#platform/memory';
import type { GraphDevice, GraphSession, KeptTensor } from '../../runtime/graph-session.js';

/** Shape of the keys or values of one layer: heads, and the numbers of each position. */
export interface CacheShape {
  /** Tensors of a cache: keys and values of all layers. */
  tensors: number;
  kvHeads: number;
  headDim: number;
  type: 'float32' | 'float16' | 'int8';
}

/** Keys and values of some rows on the device, one tensor per cache input. Shared by their holders. */
export class DeviceCache {
  private holders = 1;

  constructor(
    readonly tensors: readonly KeptTensor[],
    readonly rows: number,
    readonly capacity: number,
  ) {}

  share(): DeviceCache {
    this.holders += 1;
    return this;
  }

  release(): void {
    this.holders -= 1;
    if (this.holders === 0) for (const tensor of this.tensors) tensor.release();
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
  /** One position of zeros, from which caches without positions are made. */
  private zeros: KeptTensor | null = null;

  constructor(
    private readonly device: GraphDevice,
    private readonly shape: CacheShape,
  ) {}

  /** Returns a cache of one row whose positions are zeros: memory of the device may hold anything. */
  async empty(capacity: number): Promise<DeviceCache> {
    const zeros = (this.zeros ??= await this.makeZeros());
    const source = Array.from({ length: this.shape.tensors }, () => zeros);
    return await this.pickFrom(source, { rows: [0], length: 1, capacity });
  }

  /** Returns copies of rows, with zeros behind their first positions. */
  async pick(from: DeviceCache, picked: PickedRows): Promise<DeviceCache> {
    return await this.pickFrom(from.tensors, picked);
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
    return new DeviceCache(joined, rows.length, capacity);
  }

  async close(): Promise<void> {
    this.zeros?.release();
    this.zeros = null;
    for (const session of [this.picking, this.joining]) await (await session)?.release();
    this.picking = this.joining = null;
  }

  private async pickFrom(source: readonly KeptTensor[], picked: PickedRows): Promise<DeviceCache> {
    const { rows, length, capacity } = picked;
    const session = await this.picker();
    const feeds = {
      rows: session.tensor('int64', BigInt64Array.from(rows, BigInt), [rows.length]),
      length: session.tensor('int64', BigInt64Array.of(BigInt(length)), [1]),
      pads: padsOf(session, capacity - length),
      ...Object.fromEntries(source.map((tensor, index) => [`x.${index}`, tensor])),
    };
    const names = source.map((_, index) => `y.${index}`);
    return new DeviceCache(await runKept(session, feeds, names), rows.length, capacity);
  }

  private async makeZeros(): Promise<KeptTensor> {
    const { kvHeads, headDim, type } = this.shape;
    const session = await this.joiner();
    const values = new arrays[type](kvHeads * headDim);
    const zeros = session.tensor(type, values, [1, kvHeads, 1, headDim]);
    const nothing = padsOf(session, 0);
    const first = session.tensor('int64', BigInt64Array.of(0n), [1]);
    const feeds = { rows: first, pads_a: nothing, pads_b: nothing, 'a.0': zeros, 'b.0': zeros };
    const [made] = await runKept(session, feeds, ['y.0']);
    freeBytes(values);
    return made as KeptTensor;
  }

  private async picker(): Promise<GraphSession> {
    return await (this.picking ??= import('#model-store/device').then(({ pickRowsGraph }) =>
      this.device.openBeside(pickRowsGraph(this.shape.tensors, this.shape.type)),
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

async function runKept(
  session: GraphSession,
  feeds: Parameters<GraphSession['run']>[0],
  names: string[],
): Promise<KeptTensor[]> {
  const outputs = await session.runKeeping?.(feeds, names, new Set(names));
  return names.map((name) => outputs?.[name] as KeptTensor);
}
