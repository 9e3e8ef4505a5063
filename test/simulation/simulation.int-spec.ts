import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPostgres, type TestPostgres } from '#test/postgres';
import { Choices } from './choices.js';
import { type Plant, plants } from './plants.js';
import { type Failure, SimulationServer, simulationSettings } from './simulation.js';

/* The simulation itself: that it replays to the letter, that it is quiet about sound code, and that it can fail. */

/** Stories that a planted bug may take to be found. */
const enough = 1_500;
const sound = 60;

describe('the simulation of jobs and their money', () => {
  let postgres: TestPostgres;

  beforeAll(async () => {
    postgres = await startPostgres(simulationSettings);
  });

  afterAll(async () => {
    await postgres.close();
  });

  /** The first failure of so many stories. */
  async function search(stories: number, plant: Plant | null): Promise<Failure | null> {
    const server = await SimulationServer.prepare(postgres.url, plant);
    const lane = await server.openLane();
    try {
      for (let seed = 1; seed <= stories; seed += 1) {
        const failure = await lane.run(seed);
        if (failure !== null) return failure;
      }
      return await lane.prove();
    } finally {
      await lane.close();
    }
  }

  it(`finds nothing in ${sound} stories of the code as it is`, async () => {
    expect(await search(sound, null)).toBeNull();
  }, 180_000);

  it('tells the same story for the same seed, and for the choices that it recorded', async () => {
    const server = await SimulationServer.prepare(postgres.url);
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

  describe('with a planted bug', () => {
    it.each(plants)(
      'finds: $name',
      async (plant) => {
        const failure = await search(enough, plant);
        expect(failure, `not within ${enough} stories`).not.toBeNull();
        console.log(`seed ${failure?.seed}: ${plant.name}: ${failure?.problems[0]}`);
        expect(failure?.problems.join('\n')).not.toBe('');
      },
      600_000,
    );
  });
});
