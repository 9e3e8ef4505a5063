import { cacheKind, type CacheSizes, type SplitGraph } from '../../runtime/decoder-graph.js';
import {
  type GraphDevice,
  type GraphSession,
  type GraphTensor,
  type KeptTensor,
  releaseKept,
  runKeeping,
} from '../../runtime/graph-session.js';
import type { LogitsBatch } from '../../sampling/logits-batch.js';
import type { LogitsNeeded } from '../decoder.js';
import { SplitFeeds } from '../split-feeds.js';
import { readLogits } from '../split-runner.js';
import type { DeviceCache } from './cache-copier.js';
import { type CacheRunner, idle, type RunRow } from './device-runner.js';
import { ResidentStates, type StateCopier } from './resident-states.js';

/** Returns the sizes of each cache of a split graph. */
export function cacheSizes({ caches, sizes }: Pick<SplitGraph, 'caches' | 'sizes'>): CacheSizes[] {
  return caches.map((cache) => sizes[cacheKind(cache)]);
}

/**
 * Runs of the split graph over caches on its device. New keys and values stay there, and a small graph writes them into
 * the caches in place; states stay there too, and are the inputs of the next run. Layers with a window have all positions.
 */
export class ResidentRunner implements CacheRunner {
  runMs = 0;
  private readonly feeds: SplitFeeds;
  private readonly sizes: readonly CacheSizes[];
  private readonly kept: ReadonlySet<string>;
  private appending: Promise<GraphSession> | null = null;
  /** All logits of the last run, on the device until they are wanted; null: it returned none. */
  private lastLogits: KeptTensor | null = null;
  private lastBatch: LogitsBatch | null = null;

  constructor(
    private readonly session: GraphSession,
    private readonly device: GraphDevice,
    private readonly graph: SplitGraph,
    private readonly states: StateCopier | null,
  ) {
    this.feeds = new SplitFeeds(session, graph);
    this.sizes = cacheSizes(graph);
    const fresh = graph.caches.length === 0 ? [] : ['new_kv'];
    this.kept = new Set([...fresh, ...graph.states.map(({ present }) => present), 'logits']);
  }

  async decode(cache: DeviceCache, rows: readonly (RunRow | null)[], wanted: LogitsNeeded): Promise<LogitsBatch> {
    return await this.run(
      cache,
      rows.map((row) => row ?? idle),
      wanted,
    );
  }

  async read(cache: DeviceCache, row: RunRow, wanted: LogitsNeeded): Promise<LogitsBatch> {
    return await this.run(cache, [row], wanted);
  }

  repeat(): LogitsBatch {
    if (this.lastBatch === null || this.lastLogits === null) throw new RangeError('There is no step to repeat.');
    return { ...this.lastBatch, logits: this.lastLogits.read() as Float32Array };
  }

  /** Caches are bound for one run only. */
  forget(): void {
    this.lastLogits?.release();
    [this.lastLogits, this.lastBatch] = [null, null];
  }

  async close(): Promise<void> {
    this.forget();
    await (await this.appending)?.release();
    this.appending = null;
  }

  private async run(cache: DeviceCache, rows: readonly RunRow[], wanted: LogitsNeeded): Promise<LogitsBatch> {
    const { graph, session } = this;
    this.forget();
    const start = performance.now();
    const outputs = await runKeeping(session, this.feedsOf(cache, rows), this.fetchesFor(wanted), this.kept);
    const { logits, ...others } = outputs;
    try {
      await this.append(cache, rows, outputs['new_kv']);
      await this.takeStates(cache, rows, outputs);
    } catch (error) {
      releaseKept(Object.values(others));
      if (logits !== undefined) releaseKept([logits]);
      throw error;
    } finally {
      this.runMs += performance.now() - start;
    }
    if (outputs['new_kv'] !== undefined) releaseKept([outputs['new_kv']]);
    const batch = readLogits(
      graph,
      others,
      Int32Array.from(rows, (_, index) => index),
    );
    if (logits === undefined) return batch;
    [this.lastLogits, this.lastBatch] = [logits as KeptTensor, batch];
    return wanted === 'full' || graph.topSize === 0 ? this.repeat() : batch;
  }

  private feedsOf(cache: DeviceCache, rows: readonly RunRow[]): Record<string, GraphTensor> {
    const feeds = this.feeds.of({
      tokenIds: rows.map(({ tokenIds }) => tokenIds),
      rows: rows.map(({ length, adapter, shift = 0 }) => ({ length, start: 0, adapter, shift })),
      past: [...cache.tensors],
      media: rows.map(({ media }) => media),
      wantedIds: rows.map(({ wantedIds = [] }) => wantedIds),
    });
    this.graph.states.forEach(({ past }, index) => (feeds[past] = cache.states?.tensors[index] as KeptTensor));
    return feeds;
  }

  private fetchesFor(wanted: LogitsNeeded): string[] {
    const { topSize, hasLogSumExp, givesWanted } = this.graph;
    const names = [...this.kept].filter((name) => name !== 'logits' || wanted !== 'none');
    if (wanted === 'none') return names;
    if (topSize > 0) names.push('topk_values', 'topk_ids');
    if (hasLogSumExp) names.push('lse');
    if (givesWanted) names.push('wanted_logits');
    return names;
  }

  /** Writes new positions behind those of each row. */
  private async append(cache: DeviceCache, rows: readonly RunRow[], fresh: GraphTensor | undefined): Promise<void> {
    if (fresh === undefined) return;
    const session = await (this.appending ??= this.openAppender());
    const inputs: Record<string, GraphTensor> = { new_kv: fresh };
    const outputs: Record<string, GraphTensor> = {};
    for (const heads of new Set(this.sizes.map((sizes) => sizes.heads))) {
      inputs[`places.${heads}`] = placesOf(session, rows, heads);
    }
    cache.tensors.forEach((tensor, index) => {
      inputs[`x.${index}`] = tensor;
      outputs[`y.${index}`] = tensor;
    });
    const bound = session.device?.bind(inputs, outputs);
    try {
      await bound?.run();
    } finally {
      bound?.release();
    }
  }

  private async openAppender(): Promise<GraphSession> {
    const { appendPositionsGraph } = await import('#model-store/device');
    const { kvHeads: heads, headDim: dimension } = this.graph;
    return await this.device.openBeside(appendPositionsGraph(this.sizes, { heads, dimension }));
  }

  private async takeStates(
    cache: DeviceCache,
    rows: readonly RunRow[],
    outputs: Record<string, GraphTensor>,
  ): Promise<void> {
    if (this.states === null || cache.states === null) return;
    const tensors = this.graph.states.map(({ present }) => outputs[present] as KeptTensor);
    const behind = new ResidentStates(tensors, rows.length);
    if (!rows.some(({ sitsOut }) => sitsOut)) return cache.replaceStates(behind);
    const taken = rows.map(({ sitsOut = false }, index) => (sitsOut ? index : rows.length + index));
    const joined = await this.states.join(cache.states, behind, taken);
    behind.release();
    cache.replaceStates(joined);
  }
}

/** Indices of new positions in a cache: row, head and position of each. */
function placesOf(session: GraphSession, rows: readonly RunRow[], heads: number): GraphTensor {
  const steps = Math.max(...rows.map(({ tokenIds }) => tokenIds.length));
  const places = new BigInt64Array(rows.length * heads * steps * 3);
  let next = 0;
  rows.forEach(({ length }, row) => {
    for (let head = 0; head < heads; head += 1) {
      for (let step = 0; step < steps; step += 1) {
        places[next] = BigInt(row);
        places[next + 1] = BigInt(head);
        places[next + 2] = BigInt(length + step);
        next += 3;
      }
    }
  });
  return session.tensor('int64', places, [rows.length, heads, steps, 3]);
}
