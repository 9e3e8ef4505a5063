import { UsageFoldRepository } from '#billing';
import { migrate } from '#platform/migrations';
import { PrismaService } from '#platform/prisma';
import { startPostgres } from '#test/postgres-server';
import { CpuClock } from './admission/cpu-clock.js';
import { type BenchSubject, machineFacts, medianOf, publish, runInterleaved } from './report.js';
import { benchOptions, jsonOption, roundsOption } from './settings.js';
import { ApiProcess } from './usage/api-process.js';
import { fillUsage } from './usage/fill-usage.js';

const options = benchOptions(
  `npm run bench -- console [options]

Measures the load of the console on an api: sums of usage over a year, each of other days, and the processor time of the
api while browsers keep the overview open, beside that of the same api without them.`,
  {
    requests: { value: 'N', about: 'requests of the account in the year', default: 1_000_000 },
    tabs: { value: 'N', about: 'open pages', default: 10 },
    seconds: { value: 'N', about: 'seconds of open pages per round', default: 30 },
    rounds: roundsOption,
    json: jsonOption,
  },
);

/** Targets: a year in 200 ms, and 1 % of a processor for ten open pages. */
const aims = { yearMs: 200, processorShare: 0.01 };
/** As the page does. */
const refreshMs = 5_000;
const yearDays = 365;
const oneDayMs = 86_400_000;

async function fold(prisma: PrismaService): Promise<void> {
  const repository = new UsageFoldRepository(prisma);
  while (await repository.fold({ lagMs: 600_000, spanMs: 6 * 3_600_000 }));
}

class Reader {
  private count = 0;

  constructor(
    private readonly origin: string,
    private readonly key: string,
  ) {}

  /** A year of usage that no one has asked for yet: its borders move by a day each time. */
  async year(groupBy: string): Promise<number> {
    this.count += 1;
    const dayOf = (ago: number) => new Date(Date.now() - ago * oneDayMs).toISOString().slice(0, 10);
    const range = `from=${dayOf(yearDays + (this.count % 30))}&to=${dayOf(this.count % 30)}`;
    return await this.timed(`usage?${range}&tz=Europe/Berlin&groupBy=${groupBy}`);
  }

  async overview(): Promise<number> {
    return await this.timed('overview?tz=Europe/Berlin');
  }

  private async timed(path: string): Promise<number> {
    const startedMs = performance.now();
    const response = await fetch(`${this.origin}/api/admin/v1/${path}`, {
      headers: { authorization: `Bearer ${this.key}` },
    });
    const body = await response.text();
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${body.slice(0, 500)}`);
    return performance.now() - startedMs;
  }
}

function yearOf(reader: Reader, groupBy: string): BenchSubject {
  const run = async () => ({ yearMs: await reader.year(groupBy) });
  return { name: `a year by ${groupBy}`, run };
}

/** Polls like so many open pages, which do not begin at once. */
function openPages(reader: Reader, tabs: number, pid: number): BenchSubject {
  const run = async () => {
    const clock = new CpuClock({ api: pid });
    const startedMs = performance.now();
    const poll = async (index: number): Promise<void> => {
      await pause((index * refreshMs) / tabs);
      while (performance.now() - startedMs < options.seconds * 1_000) {
        await reader.overview();
        await pause(refreshMs);
      }
    };
    if (tabs === 0) await pause(options.seconds * 1_000);
    else await Promise.all(Array.from({ length: tabs }, (_, index) => poll(index)));
    const elapsedMs = performance.now() - startedMs;
    return { processorShare: (clock.elapsedMs().api ?? Number.NaN) / elapsedMs };
  };
  return { name: `${tabs} open pages`, run };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function main(): Promise<void> {
  const { requests, tabs, seconds, rounds } = options;
  const startedAt = new Date().toISOString();
  const onProgress = (line: string) => void process.stderr.write(`${line}\n`);
  const server = await startPostgres({ fsync: 'on' });
  const prisma = new PrismaService({ url: server.url, poolSize: 2 });
  let api: ApiProcess | null = null;
  try {
    await migrate({ url: server.url });
    onProgress(`writing ${requests} requests`);
    // Two positions each.
    const { adminKey } = await fillUsage(prisma, 2 * requests, { days: yearDays });
    onProgress('folding');
    await fold(prisma);
    api = await ApiProcess.start(server.url);
    const reader = new Reader(new URL(api.baseUrl).origin, adminKey);
    const groupings = ['day', 'model', 'key', 'type'];
    const results = [
      ...(await runInterleaved(
        groupings.map((groupBy) => yearOf(reader, groupBy)),
        { rounds, warmups: 1, onProgress },
      )),
      ...(await runInterleaved([openPages(reader, 0, api.pid), openPages(reader, tabs, api.pid)], {
        rounds,
        warmups: 0,
        onProgress,
      })),
    ];
    const slowest = Math.max(...groupings.map((groupBy) => medianOf(results, `a year by ${groupBy}`, 'yearMs')));
    const share =
      medianOf(results, `${tabs} open pages`, 'processorShare') - medianOf(results, '0 open pages', 'processorShare');
    const ratios = [
      { name: 'a year of usage, ms', value: slowest, aim: aims.yearMs, isLimit: true },
      { name: `processor share of ${tabs} open pages`, value: share, aim: aims.processorShare, isLimit: true },
    ];
    const settings = { requests, tabs, seconds, rounds };
    await publish({ bench: 'console', startedAt, machine: machineFacts(), settings, results, ratios }, options.json);
  } finally {
    await api?.close();
    await prisma.$disconnect();
    await server.close();
  }
}

await main();
