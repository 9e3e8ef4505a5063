import type { DeviceGraph } from '../../runtime/decoder-graph.js';
import type { BoundRun, GraphDevice, GraphSession, GraphTensor, KeptTensor } from '../../runtime/graph-session.js';
import type { LogitsBatch } from '../../sampling/logits-batch.js';
import type { LogitsNeeded } from '../decoder.js';
import type { PromptMedia } from '../prompt-media.js';
import type { DeviceCache } from './cache-copier.js';

/** A row of a run: tokens, and the positions before them. */
export interface RunRow {
  tokenIds: ArrayLike<number>;
  length: number;
  adapter: number;
  wantedIds?: readonly number[];
  /** Its state stays what it was. */
  sitsOut?: boolean;
  /** Images and other parts of its prompt beside text, and the shift of the positions behind them. */
  media?: PromptMedia | null;
  shift?: number;
}

/** Runs of a graph over caches on its device. */
export interface CacheRunner {
  readonly runMs: number;
  /** Computes one token for each row of a cache; null: a row without one. Logits are those of all rows. */
  decode(cache: DeviceCache, rows: readonly (RunRow | null)[], wanted: LogitsNeeded): Promise<LogitsBatch>;
  /** Returns all logits of the last decode step. */
  repeat(): LogitsBatch;
  /** Computes several tokens of the only row of a cache. */
  read(cache: DeviceCache, row: RunRow, wanted: LogitsNeeded): Promise<LogitsBatch>;
  /** To be called before a cache is released. */
  forget(): void;
  close(): Promise<void>;
}

/** A row of the batch that nothing is computed for. */
export const idle: RunRow = { tokenIds: [0], length: 0, adapter: 0 };

/** Host memory and bindings of one shape of runs. */
interface Shape {
  cache: DeviceCache;
  steps: number;
  wantedSize: number;
  returns: boolean;
  bound: BoundRun;
  ids: BigInt64Array;
  positions: BigInt64Array;
  lastIndex: BigInt64Array;
  lastKeys: Int32Array;
  total: Int32Array;
  adapters: BigInt64Array;
  wanted: BigInt64Array;
  topValues: Float32Array;
  topIds: BigInt64Array;
  narrowIds: Int32Array;
  logSumExp: Float32Array;
  wantedLogits: Float32Array;
  /** On the device until they are wanted. */
  logits: KeptTensor | null;
}

/** Runs of the graph over a cache that it writes in place. A shape is bound once, and its memory is used at every step. */
export class DeviceRunner implements CacheRunner {
  runMs = 0;
  private decoding: Shape | null = null;
  private reading: Shape | null = null;

  constructor(
    private readonly session: GraphSession,
    private readonly device: GraphDevice,
    private readonly graph: DeviceGraph,
  ) {}

  async decode(cache: DeviceCache, rows: readonly (RunRow | null)[], wanted: LogitsNeeded): Promise<LogitsBatch> {
    const wantedSize = rows.reduce((widest, row) => Math.max(widest, row?.wantedIds?.length ?? 0), 1);
    const known = this.decoding;
    if (known?.cache !== cache || known.wantedSize < wantedSize) {
      this.forgetDecode();
      this.decoding = this.bind(cache, { steps: 1, wantedSize: roundedUp(wantedSize), returns: true });
    }
    const shape = this.decoding as Shape;
    await this.run(
      shape,
      rows.map((row) => row ?? idle),
    );
    return this.logitsOf(shape, wanted);
  }

  repeat(): LogitsBatch {
    if (this.decoding === null) throw new RangeError('There is no decode step to repeat.');
    return this.logitsOf(this.decoding, 'full');
  }

  async read(cache: DeviceCache, row: RunRow, wanted: LogitsNeeded): Promise<LogitsBatch> {
    this.reading = this.released(this.reading);
    this.reading = this.bind(cache, { steps: row.tokenIds.length, wantedSize: 1, returns: wanted !== 'none' });
    await this.run(this.reading, [row]);
    return this.logitsOf(this.reading, wanted);
  }

  forget(): void {
    this.forgetDecode();
    this.reading = this.released(this.reading);
  }

  close(): Promise<void> {
    this.forget();
    return Promise.resolve();
  }

  private forgetDecode(): void {
    this.decoding = this.released(this.decoding);
  }

  private released(shape: Shape | null): null {
    shape?.bound.release();
    shape?.logits?.release();
    return null;
  }

  private async run(shape: Shape, rows: readonly RunRow[]): Promise<void> {
    const { steps, ids, positions, lastIndex, lastKeys, adapters, wanted, wantedSize } = shape;
    let longest = 0;
    rows.forEach((row, index) => {
      for (let step = 0; step < steps; step += 1) {
        ids[index * steps + step] = BigInt(row.tokenIds[step] ?? 0);
        positions[index * steps + step] = BigInt(row.length + step);
      }
      const length = row.length + steps;
      longest = Math.max(longest, length);
      lastKeys[index] = length - 1;
      lastIndex[index] = BigInt(steps - 1);
      adapters[index] = BigInt(row.adapter);
      for (let place = 0; place < wantedSize; place += 1) {
        wanted[index * wantedSize + place] = BigInt(row.wantedIds?.[place] ?? 0);
      }
    });
    shape.total[0] = longest;
    const start = performance.now();
    try {
      await shape.bound.run();
    } finally {
      this.runMs += performance.now() - start;
    }
  }

  private bind(
    cache: DeviceCache,
    { steps, wantedSize, returns }: Pick<Shape, 'steps' | 'wantedSize' | 'returns'>,
  ): Shape {
    const { graph, device } = this;
    const { rows } = cache;
    const memory = {
      ids: new BigInt64Array(rows * steps),
      positions: new BigInt64Array(rows * steps),
      lastIndex: new BigInt64Array(rows),
      lastKeys: new Int32Array(rows),
      total: new Int32Array(1),
      adapters: new BigInt64Array(rows),
      wanted: new BigInt64Array(rows * wantedSize),
      topValues: new Float32Array(rows * graph.topSize),
      topIds: new BigInt64Array(rows * graph.topSize),
      narrowIds: new Int32Array(rows * graph.topSize),
      logSumExp: new Float32Array(rows),
      wantedLogits: new Float32Array(rows * wantedSize),
    };
    const logits = returns ? device.allocate('float32', [rows, graph.vocabularySize]) : null;
    const shape = { cache, steps, wantedSize, returns, logits, ...memory };
    try {
      const outputs = { ...this.presents(cache), ...(logits === null ? {} : this.results(shape, logits)) };
      return { ...shape, bound: device.bind(this.inputs(shape), outputs) };
    } catch (error) {
      logits?.release();
      throw error;
    }
  }

  private inputs(shape: Omit<Shape, 'bound'>): Record<string, GraphTensor> {
    const { session, graph } = this;
    const { cache, steps, wantedSize } = shape;
    const { rows } = cache;
    return {
      input_ids: session.tensor('int64', shape.ids, [rows, steps]),
      last_index: session.tensor('int64', shape.lastIndex, [rows, 1]),
      seqlens_k: session.tensor('int32', shape.lastKeys, [rows]),
      total_length: session.tensor('int32', shape.total, [1]),
      ...(graph.takesPositions && { position_ids: session.tensor('int64', shape.positions, [rows, steps]) }),
      ...(graph.takesAdapters && { adapter_ids: session.tensor('int64', shape.adapters, [rows]) }),
      ...(graph.givesWanted && { wanted_ids: session.tensor('int64', shape.wanted, [rows, wantedSize]) }),
      ...Object.fromEntries(graph.caches.map(({ past }, index) => [past, cache.tensors[index] as KeptTensor])),
    };
  }

  private presents(cache: DeviceCache): Record<string, GraphTensor> {
    return Object.fromEntries(
      this.graph.caches.map(({ present }, index) => [present ?? '', cache.tensors[index] as KeptTensor]),
    );
  }

  private results(shape: Omit<Shape, 'bound'>, logits: KeptTensor): Record<string, GraphTensor> {
    const { session, graph } = this;
    const { wantedSize, cache } = shape;
    const { rows } = cache;
    return {
      logits,
      ...(graph.topSize > 0 && {
        topk_values: session.tensor('float32', shape.topValues, [rows, graph.topSize]),
        topk_ids: session.tensor('int64', shape.topIds, [rows, graph.topSize]),
      }),
      ...(graph.hasLogSumExp && { lse: session.tensor('float32', shape.logSumExp, [rows]) }),
      ...(graph.givesWanted && { wanted_logits: session.tensor('float32', shape.wantedLogits, [rows, wantedSize]) }),
    };
  }

  private logitsOf(shape: Shape, wanted: LogitsNeeded): LogitsBatch {
    const { graph } = this;
    const { narrowIds, topIds, returns } = shape;
    const needsAll = returns && (wanted === 'full' || (wanted !== 'none' && graph.topSize === 0));
    // The low half of each: ids are far below 2^31.
    const halves = new Int32Array(topIds.buffer);
    for (let index = 0; index < narrowIds.length; index += 1) narrowIds[index] = halves[2 * index] as number;
    const hasTop = returns && graph.topSize > 0;
    return {
      rowIndexes: Int32Array.from({ length: shape.cache.rows }, (_, index) => index),
      topValues: hasTop ? shape.topValues : null,
      topIds: hasTop ? narrowIds : null,
      topSize: graph.topSize,
      logSumExp: returns && graph.hasLogSumExp ? shape.logSumExp : null,
      logits: needsAll ? (shape.logits?.read() as Float32Array) : null,
      vocabularySize: graph.vocabularySize,
      wanted: returns && graph.givesWanted ? shape.wantedLogits : null,
      wantedSize: shape.wantedSize,
    };
  }
}

/** Few shapes, as each is bound anew. */
function roundedUp(size: number): number {
  return 2 ** Math.ceil(Math.log2(size));
}
