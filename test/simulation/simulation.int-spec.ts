import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isFull } from '#test/extent';
import { startPostgres, type TestPostgres } from '#test/postgres';
import { Choices } from './choices.js';
import { plantedBugs } from './planted-bugs.js';
import { type Failure, SimulationServer, simulationSettings } from './simulation.js';

/* Tests of the simulation itself: replays are exact, correct code passes, and planted bugs are found. */

/** Maximum number of scenarios until a planted bug is found. */
const enough = 3_000;
const cleanScenarios = 200;
/** Rare ones, which have a scenario to begin with, are searched for in full runs. */
const bugsToFind = isFull ? plantedBugs : plantedBugs.filter(({ seenAt }) => seenAt === undefined);
/** Concurrent scenarios, each on its own database: most of a scenario is waiting for the server. */
const lanes = 4;

describe('the simulation of jobs and billing', () => {
  let postgres: TestPostgres;
  let server: SimulationServer;

  beforeAll(async () => {
    postgres = await startPostgres(simulationSettings);
    server = await SimulationServer.prepare(postgres.url);
  });

  afterAll(async () => {
    await postgres.close();
  });

  /** The first failure of so many scenarios, starting with `first`. */
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
        failure ??= await lane.verifyPending();
      } finally {
        await lane.close();
      }
    };
    await Promise.all(Array.from({ length: lanes }, follow));
    return failure;
  }

  it(`finds nothing in ${cleanScenarios} scenarios of the unmodified code`, async () => {
    expect(await search(cleanScenarios, server)).toBeNull();
  }, 180_000);

  it('runs the same scenario for the same seed, and for its recorded choices', async () => {
    const lane = await server.openLane();
    const tell = async (choices: Choices) => {
      const { trace, choices: taken } = await lane.tell(choices);
      // Each scenario has its own accounts and requests.
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

  it('has enough planted bugs', () => {
    expect(new Set(plantedBugs.map(({ name }) => name)).size).toBeGreaterThanOrEqual(10);
  });

  describe('with a planted bug', () => {
    it.each(bugsToFind)(
      'finds: $name',
      async (plant) => {
        const failure = await search(enough, await server.planted(plant), plant.seenAt);
        expect(failure?.problems ?? `nothing in ${enough} scenarios`).toEqual(
          expect.arrayContaining([expect.stringMatching(/./)]),
        );
      },
      600_000,
    );
  });
});
