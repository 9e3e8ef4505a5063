import { seededRandom } from '#test/seeded-random';

export interface Weighted {
  readonly weight: number;
}

/**
 * Source of the choices of a scenario: a seed, or a recorded list. Scenarios are otherwise deterministic, so the list
 * determines the scenario. Option 0 is always the quietest one: a shorter list, or one with more zeros, is a simpler
 * scenario.
 */
export class Choices {
  /** The choices so far. */
  readonly taken: number[] = [];

  private constructor(
    private readonly draw: (weights: readonly number[]) => number,
    private readonly length: number,
  ) {}

  /** True at the end of a recorded list, after which no more events should occur. */
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

  /** Continues with zeros after the end of the list. */
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

  /** A uniform whole number from 0 to below `count`. */
  below(count: number): number {
    return this.pick(Array.from({ length: count }, (_, value) => ({ weight: 1, value }))).value;
  }

  /** True with a probability of `permille` per thousand. */
  chance(permille: number): boolean {
    return this.pick([
      { weight: 1_000 - permille, value: false },
      { weight: permille, value: true },
    ]).value;
  }
}
