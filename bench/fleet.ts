import { redisAvailable } from '#test/redis';
import { CpuClock } from './admission/cpu-clock.js';
import { HttpLoad, type LoadTarget } from './admission/http-load.js';
import { modelId, Stack } from './admission/stack.js';
import { fleetFigures, fleetRatios } from './fleet/fleet-figures.js';
import { type BenchSubject, machineFacts, publish, runInterleaved } from './report.js';
import { benchOptions, jsonOption } from './settings.js';

const options = benchOptions(
  `npm run bench -- fleet [options]

What a worker does alone and in fleets of growing size: chats through the whole platform with billing (one API
replica, one ops, Redis, PostgreSQL with fsync), the workers with the deterministic test engine. Each fleet gets the same
number of jobs per worker, and the fleets together the jobs of --jobs.

Everything runs on this one machine, so the workers must not be bound by its cores: a job takes its time in the engine
(--tokens times --delay, which costs no processor time), and that alone bounds a worker, as a GPU would. By default that is
0.8 s with four at once: 5 jobs/s and worker, 40 for the fleet of eight, which is half a core of two. 10,000 jobs take ten
minutes that way; fewer jobs say the same with more noise.`,
  {
    jobs: { value: 'N', about: 'total jobs over all fleets', default: 10_000 },
    fleets: { value: 'LIST', about: 'fleet sizes', default: '1,2,4,8' },
    rounds: { value: 'N', about: 'measured rounds, after a warm-up with 2% of the jobs', default: 1 },
    slots: { value: 'N', about: 'concurrent requests of a worker', default: 4 },
    tokens: { value: 'N', about: 'output tokens per request', default: 2 },
    delay: { value: 'MS', about: 'simulated duration of a decoding step', default: 400 },
    json: jsonOption,
  },
);
const { jobs: allJobs, rounds, slots, tokens, delay: delayMs } = options;
const fleets = options.fleets.split(',').map(Number);

function targetOf(stack: Stack): LoadTarget {
  const content = `Tell me a short story. [[tokens=${tokens} delay=${delayMs}]]`;
  const messages = [{ role: 'user', content }];
  return {
    url: `http://127.0.0.1:${stack.apiPort}/api/v1/chat/completions`,
    keys: stack.keys,
    body: JSON.stringify({ model: modelId, messages, max_completion_tokens: 64 }),
  };
}

/** A fleet of a given size under constant load. */
function fleet(workers: number, stack: Stack): BenchSubject {
  const jobsPerWorker = Math.round(allJobs / fleets.reduce((sum, size) => sum + size, 0) / rounds);
  // Twice the capacity of the workers: one half runs while the other half waits in the queue.
  const load = new HttpLoad(2 * slots * workers);
  const target = targetOf(stack);
  return {
    name: fleetName(workers),
    run: async (round) => {
      await stack.setWorkers(workers);
      const jobs = workers * (round < 0 ? Math.ceil(jobsPerWorker / 50) : jobsPerWorker);
      const clock = new CpuClock(stack.roots);
      const before = await stack.databaseBytes();
      const result = await load.fixedCount(target, jobs);
      await stack.untilSettled();
      const after = await stack.databaseBytes();
      const bytes = { stored: after.stored - before.stored, logged: after.logged - before.logged };
      return fleetFigures(result, { workers, cpuMs: clock.elapsedMs(), bytes });
    },
    close: () => load.close(),
  };
}

function fleetName(workers: number): string {
  return workers === 1 ? '1 worker' : `${workers} workers`;
}

async function main(): Promise<void> {
  if (!redisAvailable) throw new Error('no redis-server on the PATH: this bench needs one');
  const startedAt = new Date().toISOString();
  const onProgress = (line: string) => void process.stderr.write(`${line}\n`);
  const stack = await Stack.start({ accounts: 16, slots });
  try {
    const subjects = fleets.map((workers) => fleet(workers, stack));
    const results = await runInterleaved(subjects, { rounds, warmups: 1, onProgress });
    await stack.verifyLedger();
    const ratios = fleetRatios(results, fleets.map(fleetName));
    const settings = { jobs: allJobs, rounds, slots, tokens, delayMs };
    await publish({ bench: 'fleet', startedAt, machine: machineFacts(), settings, results, ratios }, options.json);
  } finally {
    await stack.close();
  }
}

await main();
