import 'reflect-metadata';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { startPostgres } from '#test/postgres-server';
import { ActorGroup, type ActorGroupCounters } from './actor-group.js';
import { shrink } from './shrink.js';
import { type Failure, SimulationServer, simulationSettings } from './simulation.js';

/*
 * `npm run test:simulation [-- --seed N] [--stories N] [--nightly] [--processes N] [--lanes N] [--most-minutes N
 * [--at-least N]]`: runs one scenario per seed from the given one on; nightly a million, with other seeds every day.
 * Prints the first failure with its seed, reduced to the shortest scenario found that fails in the same way. Exits with
 * 1 on a failure, and when not all of them (or not `--at-least` many) ran within the time limit.
 */
const nightlyScenarios = 1_000_000;
const dayMs = 86_400_000;

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    stories: { type: 'string' },
    nightly: { type: 'boolean', default: false },
    processes: { type: 'string', default: String(Math.min(4, availableParallelism())) },
    // A lane waits for the server half of the time.
    lanes: { type: 'string', default: '6' },
    'most-minutes': { type: 'string' },
    'at-least': { type: 'string' },
  },
});
const defaultSeed = values.nightly ? Math.floor(Date.now() / dayMs) * nightlyScenarios : 1;
const firstSeed = Number(values.seed ?? defaultSeed);
const count = Number(values.stories ?? (values.nightly ? nightlyScenarios : 50_000));
const enough = Number(values['at-least'] ?? count);
const maxMs = Number(values['most-minutes'] ?? (values.nightly ? 600 : 30)) * 60_000;

const postgres = await startPostgres(simulationSettings);
try {
  process.exitCode = (await simulate(await SimulationServer.prepare(postgres.url))) ? 0 : 1;
} finally {
  await postgres.close();
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** False after a failure or a timeout. */
async function simulate(server: SimulationServer): Promise<boolean> {
  const { url, template } = server;
  const startedAt = performance.now();
  let histogram: ActorGroupCounters = { stories: 0, distinct: 0, steps: 0 };
  const actorGroup = new ActorGroup({
    url,
    template,
    firstSeed,
    lastSeed: firstSeed + count - 1,
    processes: Math.min(count, Number(values.processes)),
    lanes: Number(values.lanes),
    onProgress: (now) => void (histogram = now),
  });
  const report = () => {
    const seconds = (performance.now() - startedAt) / 1_000;
    const rate = Math.round(histogram.stories / seconds);
    return `${histogram.stories} interleavings (${histogram.distinct} different ones), ${histogram.steps} steps, ${rate} interleavings/s`;
  };
  const progress = setInterval(() => say(report()), 30_000);
  let isLate = false;
  const bound = setTimeout(() => {
    isLate = true;
    say(`time limit reached: ${report()}`);
    actorGroup.killAll();
  }, maxMs);
  try {
    const failure = await actorGroup.run();
    say(`${report()}, seeds ${firstSeed} to ${firstSeed + count - 1}`);
    if (failure !== null) await explain(server, failure);
    return failure === null;
  } catch (error) {
    if (isLate) return histogram.stories >= enough;
    throw error;
  } finally {
    clearInterval(progress);
    clearTimeout(bound);
    actorGroup.killAll();
  }
}

async function explain(server: SimulationServer, failure: Failure): Promise<void> {
  say(`seed ${failure.seed} fails; looking for a shorter scenario with the same failure`);
  const lane = await server.openLane();
  const { trace, problems } = await shrink(lane, failure);
  await lane.close();
  say(`${trace.join('\n')}\n\n${problems.join('\n')}\n`);
  say(`replay: npm run test:simulation -- --seed ${failure.seed} --stories 1`);
}
