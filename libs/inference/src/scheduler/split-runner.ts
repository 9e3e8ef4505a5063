import { productOf } from '#common/values';
import { freeBytes } from '#platform/memory';
import type { SplitGraph } from '../runtime/decoder-graph.js';
import type { GraphSession, GraphTensor } from '../runtime/graph-session.js';
import type { LogitsBatch } from '../sampling/logits-batch.js';
import type { LogitsNeeded } from './decoder.js';
import type { FreshPositions } from './layered-cache.js';
import { MediaFeeds } from './media-feeds.js';
import type { PromptMedia } from './prompt-media.js';
import type { PastStates, RowStates } from './row-states.js';
import type { SplitRow } from './split-row.js';

export interface RunInput {
  /** Tokens of each batch row, padded on the right to the longest. */
  tokenIds: ArrayLike<number>[];
  /** Batch rows, with their positions in `past`. */
  rows: readonly SplitRow[];
  past: GraphTensor[];
  /** Position of each part's row in the batch of this run. */
  rowIndexes: Int32Array;
  /** Number of last tokens of each batch row whose logits are returned, one after the other; absent: one of each. */
  logitCounts?: readonly number[];
  /** What the prompt of each batch row holds beside text; absent: nothing. */
  media?: readonly (PromptMedia | null | undefined)[];
  /** Tokens whose logits are returned, of each batch row; absent: of none. */
  wantedIds?: (readonly number[])[];
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
  private readonly takesStarts: boolean;
  /** Empty for a graph whose layers all keep states. */
  private readonly freshFetches: readonly string[];
  /** Null for a graph that takes tokens only. */
  private readonly media: MediaFeeds | null;

  constructor(
    private readonly session: GraphSession,
    private readonly graph: SplitGraph,
    private readonly states: RowStates,
  ) {
    this.freshFetches = graph.caches.length === 0 ? [] : ['new_kv'];
    this.takesStarts = graph.caches.some(({ window }) => window !== undefined);
    const { mediaWidth, takesPositions, seesWholeImages: takesGroups } = graph;
    this.media =
      mediaWidth === null ? null : new MediaFeeds(session, { width: mediaWidth, takesPositions, takesGroups });
  }

  /** Computes the tokens of rows behind their past. */
  async run(input: RunInput, wanted: LogitsNeeded): Promise<RunResult> {
    const batch = input.tokenIds.length;
    const steps = Math.max(...input.tokenIds.map((ids) => ids.length));
    const pastStates = this.states.past(input.rows.map(({ state }) => state));
    const feeds = { ...this.feedsOf(input, batch, steps), ...pastStates.feeds };
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

  private feedsOf(input: RunInput, batch: number, steps: number): Record<string, GraphTensor> {
    const ids = new BigInt64Array(batch * steps);
    input.tokenIds.forEach((tokens, row) => {
      for (let step = 0; step < tokens.length; step++) ids[row * steps + step] = BigInt(tokens[step] ?? 0);
    });
    const feeds: Record<string, GraphTensor> = {
      input_ids: this.session.tensor('int64', ids, [batch, steps]),
      past_lens: this.session.tensor(
        'int64',
        BigInt64Array.from(input.rows, ({ length }) => BigInt(length)),
        [batch],
      ),
      ...this.placesOf(input),
    };
    if (this.takesStarts) {
      const starts = BigInt64Array.from(input.rows, ({ start }) => BigInt(start));
      feeds['window_starts'] = this.session.tensor('int64', starts, [batch]);
    }
    if (this.graph.takesAdapters) {
      feeds['adapter_ids'] = this.session.tensor(
        'int64',
        BigInt64Array.from(input.rows, ({ adapter }) => BigInt(adapter)),
        [batch],
      );
    }
    if (this.media !== null) Object.assign(feeds, this.media.feeds(input, steps));
    if (this.graph.givesWanted) feeds['wanted_ids'] = this.wantedTensor(input);
    this.graph.caches.forEach(({ past }, cache) => {
      const tensor = input.past[cache];
      if (tensor) feeds[past] = tensor;
    });
    return feeds;
  }

  /** Where the logits of a run are read. */
  private placesOf({ tokenIds, logitCounts }: RunInput): Record<string, GraphTensor> {
    const last = tokenIds.map(({ length }) => length - 1);
    if (!this.graph.picksLogits) {
      return { last_index: this.session.tensor('int64', BigInt64Array.from(last, BigInt), [last.length]) };
    }
    const places = last.flatMap((step, row) => {
      const count = logitCounts?.[row] ?? 1;
      return Array.from({ length: count }, (_, place) => [BigInt(row), BigInt(step - count + 1 + place)]);
    });
    return { logit_places: this.session.tensor('int64', BigInt64Array.from(places.flat()), [places.length, 2]) };
  }

  /** One column at least, and zeros where a row wants less than another. Only the first place of a row wants any. */
  private wantedTensor(input: RunInput): GraphTensor {
    const { wantedIds = [], tokenIds, logitCounts } = input;
    const width = wantedIds.reduce((widest, { length }) => Math.max(widest, length), 1);
    const places = logitCounts?.reduce((sum, count) => sum + count, 0) ?? tokenIds.length;
    const first = placeStarts(input);
    const ids = new BigInt64Array(places * width);
    wantedIds.forEach((row, index) =>
      row.forEach((id, column) => (ids[(first[index] ?? 0) * width + column] = BigInt(id))),
    );
    return this.session.tensor('int64', ids, [places, width]);
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
    const ids = outputs['topk_ids']?.data;
    const wanted = outputs['wanted_logits'];
    this.lastLogits = outputs['logits'] ? floats(outputs['logits']) : null;
    return {
      rowIndexes,
      topValues: outputs['topk_values'] ? floats(outputs['topk_values']) : null,
      topIds: ids instanceof BigInt64Array ? narrowed(ids) : null,
      topSize: this.graph.topSize,
      logSumExp: outputs['lse'] ? floats(outputs['lse']) : null,
      logits: this.lastLogits,
      vocabularySize: this.graph.vocabularySize,
      wanted: wanted ? floats(wanted) : null,
      wantedSize: wanted?.dims[1] ?? 0,
    };
  }
}

/** Returns for each batch row the index of its first place whose logits are returned. */
function placeStarts({ tokenIds, logitCounts }: RunInput): number[] {
  let next = 0;
  return tokenIds.map((_, row) => {
    const start = next;
    next += logitCounts?.[row] ?? 1;
    return start;
  });
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
