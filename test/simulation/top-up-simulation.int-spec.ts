import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isFull } from '#test/extent';
import { startPostgres, type TestPostgres } from '#test/postgres';
import { type Failure, type ScenarioKind, SimulationServer, simulationSettings } from './simulation.js';
import { topUpBugs } from './top-up-bugs.js';
import { TopUpScenario } from './top-up-scenario.js';

/** Maximum number of scenarios until a planted bug is found. */
const enough = 2_000;
const cleanScenarios = 200;
const lanes = 3;

const kind: ScenarioKind = (options) => new TopUpScenario(options);

describe('the simulation of top-ups', () => {
  let postgres: TestPostgres;
  let server: SimulationServer;

  beforeAll(async () => {
    postgres = await startPostgres(simulationSettings);
    server = await SimulationServer.prepare(postgres.url);
  });

  afterAll(async () => {
    await postgres.close();
  });

  /** The first failure of so many scenarios. */
  async function search(scenarios: number, on: SimulationServer): Promise<Failure | null> {
    let seed = 0;
    let failure: Failure | null = null;
    const follow = async (): Promise<void> => {
      const lane = await on.openLane(kind);
      try {
        while (failure === null && seed < scenarios) failure ??= await lane.run((seed += 1));
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

  // A third of them shows that something is found; all of them take a minute.
  it.each(isFull ? topUpBugs : topUpBugs.filter((_bug, index) => index % 3 === 0))(
    'finds: $name',
    async (plant) => {
      const failure = await search(enough, await server.planted(plant));
      expect(failure?.problems ?? `nothing in ${enough} scenarios`).toEqual(
        expect.arrayContaining([expect.stringMatching(/./)]),
      );
    },
    600_000,
  );
});
