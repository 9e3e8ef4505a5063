import { productOf } from '#common/values';
import { freeBytes } from '#platform/memory';
import type { SplitGraph } from '../runtime/decoder-graph.js';
import type { GraphSession, GraphTensor } from '../runtime/graph-session.js';
import type { LogitsBatch } from '../sampling/logits-batch.js';
import type { LogitsNeeded } from './decoder.js';
import type { FreshPositions } from './layered-cache.js';
import type { PastStates, RowStates } from './row-states.js';
import { placeStarts, SplitFeeds, type SplitInput } from './split-feeds.js';
import type { SplitRow } from './split-row.js';

export interface RunInput extends SplitInput {
  /** Batch rows, with their positions in `past`. */
  rows: readonly SplitRow[];
  /** Position of each part's row in the batch of this run. */
  rowIndexes: Int32Array;
}

export interface RunResult {
  feeds: Record<string, GraphTensor>;
  outputs: Record<string, GraphTensor>;
  /** To be released. */
  pastStates: PastStates;
  fresh: FreshPositions;
  logits: LogitsBatch;
}

/** Runs of the split graph over rows: what it is fed, and what it returns. */
export class SplitRunner {
  cacheElementsFed = 0;
  runMs = 0;
  /** Freed by the next run: megabytes, at every step that fetches them. */
  private lastLogits: Float32Array | null = null;
  /** Empty for a graph whose layers all keep states. */
  private readonly freshFetches: readonly string[];
  private readonly feeds: SplitFeeds;

  constructor(
    private readonly session: GraphSession,
    private readonly graph: SplitGraph,
    private readonly states: RowStates,
  ) {
    this.freshFetches = graph.caches.length === 0 ? [] : ['new_kv'];
    this.feeds = new SplitFeeds(session, graph);
  }

  /** Computes the tokens of rows behind their past. */
  async run(input: RunInput, wanted: LogitsNeeded): Promise<RunResult> {
    const batch = input.tokenIds.length;
    const steps = Math.max(...input.tokenIds.map((ids) => ids.length));
    const pastStates = this.states.past(input.rows.map(({ state }) => state));
    const feeds = { ...this.feeds.of(input), ...pastStates.feeds };
    for (const tensor of input.past) this.cacheElementsFed += productOf(tensor.dims);
    const fetches = [...this.freshFetches, ...this.states.fetches, ...this.fetchesFor(wanted)];
    const outputs = await this.timedRun(feeds, fetches).catch((error: unknown) => {
      pastStates.release();
      throw error;
    });
    return {
      feeds,
      outputs,
      pastStates,
      fresh: { data: this.freshFetches.length === 0 ? new Float32Array(0) : floats(outputs['new_kv']), batch, steps },
      logits: this.logitsOf(outputs, firstPlaces(input)),
    };
  }

  /** Returns every logit for the inputs of an earlier run, which must still be as they were. */
  async repeat(feeds: Record<string, GraphTensor>, rowIndexes: Int32Array): Promise<LogitsBatch> {
    const outputs = await this.timedRun(feeds, this.fetchesFor('full'));
    return this.logitsOf(outputs, rowIndexes);
  }

  private fetchesFor(wanted: LogitsNeeded): string[] {
    if (wanted === 'none') return [];
    const names = this.graph.topSize > 0 ? ['topk_values', 'topk_ids'] : [];
    if (this.graph.hasLogSumExp) names.push('lse');
    if (this.graph.givesWanted) names.push('wanted_logits');
    if (wanted === 'full' || this.graph.topSize === 0) names.push('logits');
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
    const batch = readLogits(this.graph, outputs, rowIndexes);
    this.lastLogits = batch.logits;
    return batch;
  }
}

/** Returns the logits that the split graph returned. */
export function readLogits(
  { topSize, vocabularySize }: Pick<SplitGraph, 'topSize' | 'vocabularySize'>,
  outputs: Record<string, GraphTensor>,
  rowIndexes: Int32Array,
): LogitsBatch {
  const ids = outputs['topk_ids']?.data;
  const wanted = outputs['wanted_logits'];
  return {
    rowIndexes,
    topValues: outputs['topk_values'] ? floats(outputs['topk_values']) : null,
    topIds: ids instanceof BigInt64Array ? narrowed(ids) : null,
    topSize,
    logSumExp: outputs['lse'] ? floats(outputs['lse']) : null,
    logits: outputs['logits'] ? floats(outputs['logits']) : null,
    vocabularySize,
    wanted: wanted ? floats(wanted) : null,
    wantedSize: wanted?.dims[1] ?? 0,
  };
}

function firstPlaces(input: RunInput): Int32Array {
  if (input.logitCounts === undefined) return input.rowIndexes;
  const starts = placeStarts(input);
  return input.rowIndexes.map((row) => starts[row] ?? 0);
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
