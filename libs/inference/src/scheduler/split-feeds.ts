import type { SplitGraph } from '../runtime/decoder-graph.js';
import type { GraphSession, GraphTensor } from '../runtime/graph-session.js';
import { MediaFeeds } from './media-feeds.js';
import type { PromptMedia } from './prompt-media.js';
import type { Span } from './window-positions.js';

/** A row of a run: its positions in the past, its adapter, and what images shifted the positions behind its prompt by. */
export interface FedRow extends Span {
  readonly adapter: number;
  readonly shift: number;
}

/** What the split graph computes in a run. */
export interface SplitInput {
  /** Tokens of each batch row, padded on the right to the longest. */
  tokenIds: ArrayLike<number>[];
  /** Batch rows, with their positions in `past`. */
  rows: readonly FedRow[];
  past: GraphTensor[];
  /** Number of last tokens of each batch row whose logits are returned, one after the other; absent: one of each. */
  logitCounts?: readonly number[];
  /** What the prompt of each batch row holds beside text; absent: nothing. */
  media?: readonly (PromptMedia | null | undefined)[];
  /** Tokens whose logits are returned, of each batch row; absent: of none. */
  wantedIds?: (readonly number[])[];
}

/** Inputs of the split graph. */
export class SplitFeeds {
  private readonly takesStarts: boolean;
  /** Null for a graph that takes tokens only. */
  private readonly media: MediaFeeds | null;

  constructor(
    private readonly session: GraphSession,
    private readonly graph: SplitGraph,
  ) {
    this.takesStarts = graph.caches.some(({ window }) => window !== undefined);
    const { mediaWidth, takesPositions, seesWholeImages: takesGroups } = graph;
    this.media =
      mediaWidth === null ? null : new MediaFeeds(session, { width: mediaWidth, takesPositions, takesGroups });
  }

  /** Returns all inputs but the states. */
  of(input: SplitInput): Record<string, GraphTensor> {
    const batch = input.tokenIds.length;
    const steps = Math.max(...input.tokenIds.map((ids) => ids.length));
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
  private placesOf({ tokenIds, logitCounts }: SplitInput): Record<string, GraphTensor> {
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
  private wantedTensor(input: SplitInput): GraphTensor {
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
}

/** Returns for each batch row the index of its first place whose logits are returned. */
export function placeStarts({ tokenIds, logitCounts }: SplitInput): number[] {
  let next = 0;
  return tokenIds.map((_, row) => {
    const start = next;
    next += logitCounts?.[row] ?? 1;
    return start;
  });
}
