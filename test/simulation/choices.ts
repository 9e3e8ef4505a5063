import { seededRandom } from '#test/seeded-random';

export interface Weighted {
  readonly weight: number;
}

/**
 * Where the choices of a story come from: a seed, or a list that was recorded. A story asks for nothing else that is not
 * determined, so the list is the story. Option 0 is always the quiet one: a shorter list, or one with more zeros, is a
 * simpler story.
 */
export class Choices {
  /** What was chosen so far. */
  readonly taken: number[] = [];

  private constructor(
    private readonly draw: (weights: readonly number[]) => number,
    private readonly length: number,
  ) {}

  /** True when a recorded list is at its end: then nothing more shall happen. */
  get areOver(): boolean {
    return this.taken.length >= this.length;
  }

  static seeded(seed: number): Choices {
    const random = seededRandom(seed);
    return new Choices((weights) => {
      const total = weights.reduce((sum, weight) => sum + weight, 0);
      let left = random() * total;
      const place = weights.findIndex((weight) => (left -= weight) < 0);
      return place === -1 ? weights.length - 1 : place;
    }, Infinity);
  }

  /** Goes on with zeros when the list is at its end. */
  static recorded(list: readonly number[]): Choices {
    let next = 0;
    return new Choices((weights) => (list[next++] ?? 0) % weights.length, list.length);
  }

  pick<Option extends Weighted>(options: readonly [Option, ...Option[]] | readonly Option[]): Option {
    const place = options.length === 1 ? 0 : this.draw(options.map(({ weight }) => weight));
    if (options.length > 1) this.taken.push(place);
    const option = options[place];
    if (option === undefined) throw new Error('a choice needs an option');
    return option;
  }

  /** A whole number from 0 to below `count`, each as likely. */
  below(count: number): number {
    return this.pick(Array.from({ length: count }, (_, value) => ({ weight: 1, value }))).value;
  }

  /** True in `permille` of a thousand cases. */
  chance(permille: number): boolean {
    return this.pick([
      { weight: 1_000 - permille, value: false },
      { weight: permille, value: true },
    ]).value;
  }
}
