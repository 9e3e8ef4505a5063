import 'reflect-metadata';
import { availableParallelism } from 'node:os';
import { readCommandLine } from '#command-line';
import { startPostgres } from '#test/postgres-server';
import { ActorGroup, type ActorGroupCounters } from './actor-group.js';
import { shrink } from './shrink.js';
import { type Failure, SimulationServer, simulationSettings } from './simulation.js';

const nightlyScenarios = 1_000_000;
const dayMs = 86_400_000;

const about = `npm test -- simulation [options]

Runs one scenario per seed. Prints the first failure with its seed, reduced to the shortest scenario found that fails in
the same way. Exits with 1 on a failure, and when not all of them ran within the time limit.`;
const { values } = readCommandLine(about, {
  seed: { value: 'N', about: 'first seed; default 1, and with --nightly another every day', isNumber: true },
  stories: { value: 'N', about: 'scenarios; default 50,000, and with --nightly a million', isNumber: true },
  nightly: { about: 'as many as in a night, with other seeds every day' },
  processes: { value: 'N', about: 'processes', default: Math.min(4, availableParallelism()) },
  // A lane waits for the server half of the time.
  lanes: { value: 'N', about: 'scenarios at once in a process', default: 6 },
  'most-minutes': { value: 'N', about: 'time limit; default 30, and with --nightly 600', isNumber: true },
  'at-least': { value: 'N', about: 'scenarios that suffice within the time limit; default: all', isNumber: true },
});
const defaultSeed = values.nightly ? Math.floor(Date.now() / dayMs) * nightlyScenarios : 1;
const firstSeed = values.seed ?? defaultSeed;
const count = values.stories ?? (values.nightly ? nightlyScenarios : 50_000);
const enough = values['at-least'] ?? count;
const maxMs = (values['most-minutes'] ?? (values.nightly ? 600 : 30)) * 60_000;

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
    processes: Math.min(count, values.processes),
    lanes: values.lanes,
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
  say(`replay: npm test -- simulation --seed ${failure.seed} --stories 1`);
}
