import { startPostgres } from '#test/postgres-server';
import { redisAvailable, startRedis } from '#test/redis';
import { openRawBull } from './queue/raw-bull.js';
import { type BenchQueue, type LoadSize, measure } from './queue/load.js';
import { openSluiceQueue } from './queue/sluice-queue.js';
import { type BenchSubject, machineFacts, medianOf, publish, type Ratio, runInterleaved } from './report.js';
import { benchOptions, jsonOption, roundsOption } from './settings.js';

const options = benchOptions(
  `npm run bench -- queue [options]

Latency from enqueue to pickup, and jobs per second, of our queue beside raw BullMQ, interleaved in one run; ours with
accounts that take turns, and in the order of arrival.`,
  {
    redis: { value: 'URL', about: 'URL of a Redis; default: start a redis-server' },
    postgres: {
      value: 'URL',
      about: 'URL of a PostgreSQL; default: start that of the npm package with fsync',
    },
    only: { value: 'STORE', about: 'redis or postgres' },
    rounds: roundsOption,
    pickups: { value: 'N', about: 'sequential jobs per run; a third of it on Postgres', default: 300 },
    jobs: { value: 'N', about: 'concurrent jobs per run; a tenth of it on Postgres', default: 3_000 },
    json: jsonOption,
  },
);

/** Target ratio of jobs per second to raw BullMQ on Redis. */
const redisTarget = 0.7;
/** Target ratio of jobs per second in turns of accounts to those in the order of arrival. */
const turnsTarget = 0.97;
const producers = 64;

interface Server {
  readonly store: string;
  readonly url: string;
  readonly size: LoadSize;
  close(): Promise<void>;
}

async function startServers(): Promise<Server[]> {
  const { redis, postgres, only, pickups, jobs } = options;
  const servers: Server[] = [];
  const foreign = async () => undefined;
  if (only !== 'postgres') {
    if (redis === null && !redisAvailable) throw new Error('no redis-server on the PATH: install one or pass --redis');
    const { url, close } = redis === null ? await startRedis() : { url: redis, close: foreign };
    servers.push({ store: 'Redis', url, close, size: { pickups, jobs, producers } });
  }
  if (only !== 'redis') {
    const { url, close } = postgres === null ? await startPostgres({ fsync: 'on' }) : { url: postgres, close: foreign };
    const size = { pickups: Math.ceil(pickups / 3), jobs: Math.ceil(jobs / 10), producers };
    servers.push({ store: 'Postgres', url, close, size });
  }
  return servers;
}

function subject(name: string, { url, size }: Server, open: (url: string) => Promise<BenchQueue>): BenchSubject {
  let queue: BenchQueue | null = null;
  return {
    name,
    prepare: async () => {
      queue = await open(url);
    },
    run: async () => {
      if (queue === null) throw new Error('not prepared');
      return measure(queue, size);
    },
    close: async () => queue?.close(),
  };
}

async function main(): Promise<void> {
  const startedAt = new Date().toISOString();
  const servers = await startServers();
  try {
    const namespace = `bench${process.pid}`;
    const subjects = servers.flatMap((server) => [
      subject(`raw BullMQ on ${server.store}`, server, (url) => openRawBull(url, `${namespace}_raw`)),
      subject(`sluice on ${server.store}`, server, (url) => openSluiceQueue(url, `${namespace}_ours`)),
      subject(`sluice by arrival on ${server.store}`, server, (url) =>
        openSluiceQueue(url, `${namespace}_arrival`, { byArrival: true }),
      ),
    ]);
    const results = await runInterleaved(subjects, {
      rounds: options.rounds,
      warmups: 1,
      onProgress: (line) => process.stderr.write(`${line}\n`),
    });
    const ratios = servers.flatMap(({ store }): Ratio[] => {
      const of = (name: string) => medianOf(results, `${name} on ${store}`, 'jobsPerSecond');
      const value = of('sluice') / of('raw BullMQ');
      const overArrival = of('sluice') / of('sluice by arrival');
      return [
        { name: `jobs/s on ${store}, sluice over raw BullMQ`, value, aim: store === 'Redis' ? redisTarget : null },
        { name: `jobs/s on ${store}, in turns over by arrival`, value: overArrival, aim: turnsTarget },
      ];
    });
    const settings = { rounds: options.rounds, pickups: options.pickups, jobs: options.jobs, producers };
    await publish({ bench: 'queue', startedAt, machine: machineFacts(), settings, results, ratios }, options.json);
  } finally {
    for (const server of servers) await server.close();
  }
}

await main();
