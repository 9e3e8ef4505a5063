import { redisAvailable } from '#test/redis';
import { startBareRoute } from './admission/bare-route.js';
import { CpuClock } from './admission/cpu-clock.js';
import { HttpLoad, type LoadTarget } from './admission/http-load.js';
import { modelId, Stack } from './admission/stack.js';
import { beginCount, type DatabaseWork } from './admission/statements.js';
import { measure } from './queue/load.js';
import { openRawBull } from './queue/raw-bull.js';
import {
  type BenchSubject,
  type Figures,
  machineFacts,
  medianOf,
  publish,
  type Ratio,
  runInterleaved,
} from './report.js';
import { benchOptions, jsonOption, roundsOption } from './settings.js';

const options = benchOptions(
  `npm run bench -- admission [options]

A chat through the whole platform with billing: key, limits, reservation, queue, worker with the deterministic test
engine, relay, job result, settlement; one API replica, Redis and PostgreSQL (with fsync) on this machine. Beside it, in
turns: the same with one busy account, a bare NestJS route, and raw BullMQ that adds and processes.`,
  {
    rounds: roundsOption,
    seconds: { value: 'N', about: 'seconds of load per run', default: 5 },
    connections: { value: 'N', about: 'concurrent requests', default: 32 },
    tokens: { value: 'N', about: 'output tokens per request', default: 8 },
    accounts: { value: 'N', about: 'accounts that share the load', default: 64 },
    stream: { about: 'stream responses as server-sent events' },
    rate: { value: 'N', about: 'requests/s of the latency runs; default: half of the measured maximum' },
    statements: { about: 'also print the database statements per request' },
    profiles: { value: 'DIR', about: 'folder for CPU profiles of every process' },
    json: jsonOption,
  },
);
const { rounds, seconds, connections, tokens, accounts, stream } = options;

/** Performance targets of the project. */
const aims = { perSecond: 500, addedP50Ms: 5, statements: 5, transactions: 2, hotAccount: 0.5 };

function bodyOf(): string {
  const content = `Tell me a short story about a fox who finds a lantern in the snow. [[tokens=${tokens}]]`;
  const messages = [
    { role: 'system', content: 'You are a helpful assistant.' },
    { role: 'user', content },
  ];
  return JSON.stringify({ model: modelId, messages, max_completion_tokens: 64, temperature: 0.7, stream });
}

/** Report on CPU time. */
function cpuFigures(clock: CpuClock, requests: number): Figures {
  const elapsed = Object.entries(clock.elapsedMs());
  const total = elapsed.reduce((sum, [name, ms]) => (name === 'load' ? sum : sum + ms), 0);
  const each = elapsed.map(([name, ms]): [string, number] => [`${name}CpuMs`, ms / requests]);
  return Object.fromEntries([...each, ['allCpuMs', total / requests]]);
}

/** At maximum throughput. */
function throughput(name: string, stack: Stack, target: LoadTarget): BenchSubject {
  const load = new HttpLoad(connections);
  return {
    name,
    run: async () => {
      const clock = new CpuClock(stack.roots);
      const { requests, seconds: took, p50Ms } = await load.closedLoop(target, seconds);
      await stack.untilSettled();
      return { perSecond: requests / took, p50Ms, ...cpuFigures(clock, requests) };
    },
    close: () => load.close(),
  };
}

/** Latency at a steady rate and, for the full stack, its CPU time. */
function latency(name: string, target: LoadTarget, perSecond: number, stack?: Stack): BenchSubject {
  const load = new HttpLoad(256);
  return {
    name,
    run: async () => {
      const clock = new CpuClock(stack?.roots ?? {});
      const { requests, p50Ms, p95Ms, p99Ms } = await load.openLoop(target, { perSecond, seconds });
      if (stack === undefined) return { p50Ms, p95Ms, p99Ms };
      await stack.untilSettled();
      return { p50Ms, p95Ms, p99Ms, ...cpuFigures(clock, requests) };
    },
    close: () => load.close(),
  };
}

async function rawBull(redisUrl: string): Promise<BenchSubject> {
  const queue = await openRawBull(redisUrl, `bench${process.pid}`);
  return {
    name: 'raw BullMQ add and process',
    run: async () => {
      const { jobsPerSecond = Number.NaN } = await measure(queue, { pickups: 0, jobs: 3_000, producers: connections });
      return { perSecond: jobsPerSecond };
    },
    close: () => queue.close(),
  };
}

/** Database statements per request, averaged over some hundred requests. */
async function countWork(stack: Stack, target: LoadTarget): Promise<DatabaseWork & { requests: number }> {
  const load = new HttpLoad(connections);
  const end = await beginCount(stack.pool);
  const { requests } = await load.closedLoop(target, seconds);
  await stack.untilSettled();
  await load.close();
  return { ...(await end()), requests };
}

async function main(): Promise<void> {
  if (!redisAvailable) throw new Error('no redis-server on the PATH: this bench needs one');
  const startedAt = new Date().toISOString();
  const onProgress = (line: string) => void process.stderr.write(`${line}\n`);
  const bare = await startBareRoute();
  const stack = await Stack.start({ accounts, profiles: options.profiles ?? undefined });
  try {
    const url = `http://127.0.0.1:${stack.apiPort}/api/v1/chat/completions`;
    const many: LoadTarget = { url, keys: stack.keys, body: bodyOf() };
    const one: LoadTarget = { ...many, keys: stack.keys.slice(0, 1) };
    const route: LoadTarget = { ...many, url: bare.url };
    const results = await runInterleaved(
      [
        throughput('sluice, many accounts', stack, many),
        throughput('sluice, one account', stack, one),
        await rawBull(stack.redisUrl),
      ],
      { rounds, warmups: 1, onProgress },
    );
    const reached = medianOf(results, 'sluice, many accounts', 'perSecond');
    const rate = options.rate === null ? Math.round(reached / 2) : Number(options.rate);
    results.push(
      ...(await runInterleaved(
        [latency(`sluice at ${rate}/s`, many, rate, stack), latency(`bare route at ${rate}/s`, route, rate)],
        { rounds, warmups: 1, onProgress },
      )),
    );
    await stack.untilSettled();
    const work = await countWork(stack, many);
    await stack.verifyLedger();
    if (options.statements) {
      for (const { calls, text } of work.texts.slice(0, 20)) {
        process.stdout.write(`${(calls / work.requests).toFixed(3)}  ${text.slice(0, 160)}\n`);
      }
    }
    const added = (figure: string) =>
      medianOf(results, `sluice at ${rate}/s`, figure) - medianOf(results, `bare route at ${rate}/s`, figure);
    const ratios: Ratio[] = [
      { name: 'requests/s per api replica', value: reached, aim: aims.perSecond },
      {
        name: 'one account over many',
        value: medianOf(results, 'sluice, one account', 'perSecond') / reached,
        aim: aims.hotAccount,
      },
      {
        name: 'requests/s over raw BullMQ jobs/s',
        value: reached / medianOf(results, 'raw BullMQ add and process', 'perSecond'),
        aim: null,
      },
      { name: `added p50 ms at ${rate}/s`, value: added('p50Ms'), aim: aims.addedP50Ms, isLimit: true },
      { name: `added p95 ms at ${rate}/s`, value: added('p95Ms'), aim: null },
      { name: `added p99 ms at ${rate}/s`, value: added('p99Ms'), aim: null },
      { name: 'statements per request', value: work.statements / work.requests, aim: aims.statements, isLimit: true },
      {
        name: 'transactions per request',
        value: work.transactions / work.requests,
        aim: aims.transactions,
        isLimit: true,
      },
    ];
    const settings = { rounds, seconds, connections, tokens, accounts, stream };
    await publish({ bench: 'admission', startedAt, machine: machineFacts(), settings, results, ratios }, options.json);
  } finally {
    await stack.close();
    await bare.close();
  }
}

await main();
