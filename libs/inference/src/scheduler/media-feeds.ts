import { joinFloats } from '#common/values';
import type { GraphSession, GraphTensor } from '../runtime/graph-session.js';
import type { MediaSpan, PromptMedia } from './prompt-media.js';

/** The rows of a run as far as images are concerned. */
interface MediaRun {
  tokenIds: readonly ArrayLike<number>[];
  rows: readonly { readonly length: number; readonly shift: number }[];
  media?: readonly (PromptMedia | null | undefined)[];
}

const axes = 3;

/** What a graph that reads images is fed beside tokens. */
export class MediaFeeds {
  /** Fed where no row has an image. */
  private readonly nothing: GraphTensor;

  constructor(
    private readonly session: GraphSession,
    private readonly options: { width: number; takesPositions: boolean; takesGroups: boolean },
  ) {
    this.nothing = session.tensor('float32', new Float32Array(options.width), [1, options.width]);
  }

  /** Rows are padded to `steps`. */
  feeds(run: MediaRun, steps: number): Record<string, GraphTensor> {
    const { session } = this;
    const { width, takesPositions, takesGroups } = this.options;
    const groups = new BigInt64Array(takesGroups ? run.rows.length * steps : 0).fill(-1n);
    const dims = [run.rows.length, steps];
    const places = new BigInt64Array(run.rows.length * steps).fill(-1n);
    const pieces: Float32Array[] = [];
    let count = 0;
    run.rows.forEach(({ length: start }, row) => {
      const end = start + (run.tokenIds[row]?.length ?? 0);
      for (const [group, span] of (run.media?.[row]?.spans ?? []).entries()) {
        const { first, embeddings } = this.partOf(span, start, end);
        for (let at = 0; at < embeddings.length / width; at++, count++) {
          places[row * steps + first - start + at] = BigInt(count);
          if (takesGroups) groups[row * steps + first - start + at] = BigInt(group);
        }
        pieces.push(embeddings);
      }
    });
    return {
      media: count === 0 ? this.nothing : session.tensor('float32', joinFloats(pieces), [count, width]),
      media_places: session.tensor('int64', places, dims),
      ...(takesGroups && { media_groups: session.tensor('int64', groups, dims) }),
      ...(takesPositions && { rotary_positions: session.tensor('int64', positionsOf(run, steps), [axes, ...dims]) }),
    };
  }

  /** The part of a span that lies in positions `[start, end)`. */
  private partOf(span: MediaSpan, start: number, end: number): { first: number; embeddings: Float32Array } {
    const { width } = this.options;
    const first = Math.max(span.start, start);
    const last = Math.min(span.start + span.embeddings.length / width, end);
    if (first >= last) return { first, embeddings: new Float32Array(0) };
    return { first, embeddings: span.embeddings.subarray((first - span.start) * width, (last - span.start) * width) };
  }
}

/** Of a prompt with images as given; of others, and behind the prompt, the index and what images shifted it by. */
function positionsOf({ rows, media }: MediaRun, steps: number): BigInt64Array {
  const positions = new BigInt64Array(axes * rows.length * steps);
  rows.forEach(({ length: start, shift }, row) => {
    const values = media?.[row]?.rotary?.values;
    const count = (values?.length ?? 0) / axes;
    for (let axis = 0; axis < axes; axis++) {
      for (let step = 0; step < steps; step++) {
        const index = start + step;
        const known = index < count ? values?.[axis * count + index] : undefined;
        positions[(axis * rows.length + row) * steps + step] = BigInt(known ?? Math.max(0, index + shift));
      }
    }
  });
  return positions;
}
