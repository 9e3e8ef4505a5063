import 'reflect-metadata';
import { parseArgs } from 'node:util';
import { startPostgres } from '#test/postgres-server';
import { shrink } from './shrink.js';
import { type Failure, type SimulationLane, SimulationServer, simulationSettings } from './simulation.js';

/*
 * `npm run test:simulation [-- --seed N] [--steps N] [--nightly] [--lanes N]`: so many interleavings, one per seed from the
 * given one on. The first that breaks a promise is printed with its seed, as the shortest story found that does the same.
 */
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    steps: { type: 'string' },
    nightly: { type: 'boolean', default: false },
    lanes: { type: 'string', default: '3' },
  },
});
const firstSeed = Number(values.seed);
const count = Number(values.steps ?? (values.nightly ? 1_000_000 : 50_000));
const postgres = await startPostgres(simulationSettings);
try {
  const server = await SimulationServer.prepare(postgres.url);
  const lanes = await Promise.all(Array.from({ length: Number(values.lanes) }, () => server.openLane()));
  process.exitCode = (await simulate(lanes)) === null ? 0 : 1;
  await Promise.all(lanes.map((lane) => lane.close()));
} finally {
  await postgres.close();
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function simulate(lanes: SimulationLane[]): Promise<Failure | null> {
  const startedAt = performance.now();
  let next = firstSeed;
  let failure: Failure | null = null;
  const isOver = () => failure !== null || next >= firstSeed + count;
  const seconds = () => (performance.now() - startedAt) / 1_000;
  const tell = () => {
    const done = next - firstSeed;
    const steps = lanes.reduce((sum, lane) => sum + lane.steps, 0);
    return `${done} interleavings, ${steps} steps, ${Math.round(done / seconds())} interleavings/s`;
  };
  const progress = setInterval(() => say(tell()), 30_000);
  await Promise.all(
    lanes.map(async (lane) => {
      while (!isOver()) failure ??= await lane.run(next++);
      failure ??= await lane.prove();
    }),
  );
  clearInterval(progress);
  say(`${tell()}, seeds ${firstSeed} to ${next - 1}`);
  const [lane] = lanes;
  if (failure === null || lane === undefined) return failure;
  const { seed } = failure as Failure;
  say(`seed ${seed} breaks a promise; looking for a shorter story of the same kind`);
  const shortest = await shrink(lane, failure);
  say(shortest.trace.join('\n'));
  say(`\n${shortest.problems.join('\n')}\n\nreplay: npm run test:simulation -- --seed ${seed} --steps 1`);
  return shortest;
}
