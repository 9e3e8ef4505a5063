import type { GraphBuilder, ValueName } from '../../onnx/index.js';
import type { DecoderShape, MediaShape } from './decoder-shape.js';
import type { RotaryTables } from './rotary-tables.js';

/**
 * Inputs of a decoder that reads images:
 *
 * - `media`: float32 [media, hidden * (1 + deep layers)], what stands in the prompt instead of embeddings, and what the
 *   first layers add to their outputs; at least one row
 * - `media_places`: int64 [batch, seq], the row of `media` of each position; -1: a token
 * - `media_groups`, if positions of an image see each other: int64 [batch, seq], the number of the image; -1: a token
 * - `rotary_positions`, if positions have several axes: int64 [3, batch, seq]: time, height, width
 */
export class MediaInputs {
  /** `[batch, seq, 1]`. */
  private readonly isMedia: ValueName;
  /** What replaces the embeddings, then what each of the first layers adds: `[batch, seq, hidden]`. */
  private readonly parts: ValueName[];

  constructor(
    private readonly builder: GraphBuilder,
    private readonly shape: DecoderShape,
    private readonly media: MediaShape,
  ) {
    const { deepLayers = 0 } = media;
    const width = shape.hiddenSize * (1 + deepLayers);
    builder.input('media', 'float32', ['media', width]);
    builder.input('media_places', 'int64', ['batch', 'seq']);
    if (media.seesWholeImages) builder.input('media_groups', 'int64', ['batch', 'seq']);
    const zero = builder.integers(0);
    const isMedia = builder.node('GreaterOrEqual', ['media_places', zero]);
    this.isMedia = builder.node('Unsqueeze', [isMedia, builder.integers([2])]);
    const rows = builder.node('Gather', ['media', builder.node('Max', ['media_places', zero])], { axis: 0 });
    this.parts = this.split(rows, 1 + deepLayers);
  }

  /** Puts media into the embeddings. */
  replace(embedded: ValueName): ValueName {
    return this.builder.node('Where', [this.isMedia, this.parts[0] ?? '', embedded]);
  }

  /** Adds the features that a layer adds to its output. */
  addDeep(layer: number, residual: ValueName): ValueName {
    const part = this.parts[layer + 1];
    if (part === undefined) return residual;
    const { builder } = this;
    return builder.node('Add', [residual, builder.node('Where', [this.isMedia, part, builder.float(0)])]);
  }

  private split(rows: ValueName, count: number): ValueName[] {
    const { builder, shape } = this;
    if (count === 1) return [rows];
    const names = Array.from({ length: count }, () => builder.freshName('media_part'));
    const sizes = builder.integers(names.map(() => shape.hiddenSize));
    builder.nodeWithOutputs('Split', [rows, sizes], names, { axis: -1 });
    return names;
  }
}

/** Rotation by positions in time, height and width: each pair turns by one of them. */
export class AxisRotation {
  /** `[batch, seq]`: places of the positions in the tables of a run. */
  readonly places: ValueName;
  /** `[3, batch * seq]`. */
  private readonly flat: ValueName;
  private readonly known = new Map<RotaryTables, RotaryTables>();

  constructor(
    private readonly builder: GraphBuilder,
    private readonly axes: readonly number[],
  ) {
    const positions = builder.input('rotary_positions', 'int64', [3, 'batch', 'seq']);
    this.flat = builder.node('Reshape', [positions, builder.integers([3, -1])]);
    const sizes = builder.node('Shape', ['media_places']);
    const count = builder.node('ReduceProd', [sizes], { keepdims: 0 });
    const range = builder.node('Range', [builder.integers(0), count, builder.integers(1)]);
    this.places = builder.node('Reshape', [range, sizes]);
  }

  /** Returns the tables of this run, `[batch * seq, pairs]`, from those of all positions. */
  tables(all: RotaryTables): RotaryTables {
    const known = this.known.get(all) ?? { cosines: this.gathered(all.cosines), sines: this.gathered(all.sines) };
    this.known.set(all, known);
    return known;
  }

  /** The other two axes count zero times, which changes no value. */
  private gathered(table: ValueName): ValueName {
    const { builder, axes } = this;
    const rows = builder.node('Gather', [table, this.flat]);
    const masks = [0, 1, 2].flatMap((axis) => axes.map((each) => (each === axis ? 1 : 0)));
    const mask = builder.floats(masks, [3, 1, axes.length]);
    return builder.node('ReduceSum', [builder.node('Mul', [rows, mask]), builder.integers([0])], { keepdims: 0 });
  }
}
