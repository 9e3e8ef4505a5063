import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPostgres, type TestPostgres } from '#test/postgres';
import { Choices } from './choices.js';
import { plants } from './planted-bugs.js';
import { type Failure, SimulationServer, simulationSettings } from './simulation.js';

/* The simulation itself: that it replays to the letter, that it is quiet about sound code, and that it can fail. */

/** Stories that a planted bug may take to be found. */
const enough = 3_000;
const audio = 200;
/** Stories at the same time, each on a database of its own: most of a story is waiting for the server. */
const lanes = 4;

describe('the simulation of jobs and their money', () => {
  let postgres: TestPostgres;
  let server: SimulationServer;

  beforeAll(async () => {
    postgres = await startPostgres(simulationSettings);
    server = await SimulationServer.prepare(postgres.url);
  });

  afterAll(async () => {
    await postgres.close();
  });

  /** The first failure of so many stories, of which `first` is told first. */
  async function search(stories: number, on: SimulationServer, first?: number): Promise<Failure | null> {
    let seed = 0;
    let failure: Failure | null = null;
    if (first !== undefined) {
      const lane = await on.openLane();
      try {
        failure = await lane.run(first);
      } finally {
        await lane.close();
      }
    }
    const follow = async (): Promise<void> => {
      const lane = await on.openLane();
      try {
        while (failure === null && seed < stories) failure ??= await lane.run((seed += 1));
        failure ??= await lane.prove();
      } finally {
        await lane.close();
      }
    };
    await Promise.all(Array.from({ length: lanes }, follow));
    return failure;
  }

  it(`finds nothing in ${audio} stories of the code as it is`, async () => {
    expect(await search(audio, server)).toBeNull();
  }, 180_000);

  it('tells the same story for the same seed, and for the choices that it recorded', async () => {
    const lane = await server.openLane();
    const tell = async (choices: Choices) => {
      const { trace, choices: taken } = await lane.tell(choices);
      // Each story has accounts and requests of its own.
      return { taken, trace: trace.map((line) => line.replace(/\bS\d+-/g, 'S-').replace(/[0-9a-f]{12}\//g, '/')) };
    };
    try {
      for (const seed of [3, 5, 8, 13]) {
        const first = await tell(Choices.seeded(seed));
        expect(await tell(Choices.seeded(seed))).toEqual(first);
        expect(await tell(Choices.recorded(first.taken))).toEqual(first);
      }
    } finally {
      await lane.close();
    }
  }, 180_000);

  it('has bugs enough to prove itself with', () => {
    expect(new Set(plants.map(({ name }) => name)).size).toBeGreaterThanOrEqual(10);
  });

  describe('with a planted bug', () => {
    it.each(plants)(
      'finds: $name',
      async (plant) => {
        const failure = await search(enough, await server.planted(plant), plant.seenAt);
        expect(failure?.problems ?? `nothing in ${enough} stories`).toEqual(
          expect.arrayContaining([expect.stringMatching(/./)]),
        );
      },
      600_000,
    );
  });
});
