import type { FairPlace, FairTurn } from '../contract/fair-turn.js';

interface Waiting {
  readonly turn: FairTurn;
  readonly resolve: (place: FairPlace) => void;
  readonly reject: (error: unknown) => void;
}

/** The most turns of one call. */
const maxTurns = 500;

/** Gets places from the store. Turns of one queue that arrive while a call is in progress share the next one. */
export class PlaceAssigner {
  private readonly waiting = new Map<string, Waiting[]>();

  /** `assign` resolves to a place for each turn, in order. */
  constructor(private readonly assign: (queue: string, turns: readonly FairTurn[]) => Promise<FairPlace[]>) {}

  /** Rejects as `assign` does. */
  place(queue: string, turn: FairTurn): Promise<FairPlace> {
    return new Promise((resolve, reject) => {
      const waiting = this.waiting.get(queue);
      if (waiting !== undefined) return void waiting.push({ turn, resolve, reject });
      this.waiting.set(queue, [{ turn, resolve, reject }]);
      void this.run(queue);
    });
  }

  private async run(queue: string): Promise<void> {
    // Jobs that are enqueued in one turn of the event loop share the first call.
    await Promise.resolve();
    for (;;) {
      const group = this.waiting.get(queue)?.splice(0, maxTurns) ?? [];
      if (group.length === 0) break;
      await this.placeGroup(queue, group);
    }
    this.waiting.delete(queue);
  }

  private async placeGroup(queue: string, group: readonly Waiting[]): Promise<void> {
    try {
      const places = await this.assign(
        queue,
        group.map(({ turn }) => turn),
      );
      group.forEach(({ resolve, reject }, index) => {
        const place = places[index];
        if (place === undefined) reject(new Error('The store left a job without a place.'));
        else resolve(place);
      });
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }
}
