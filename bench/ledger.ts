import { createLedger, isConsistent } from '#billing';
import { migrate } from '#platform/migrations';
import { PrismaService } from '#platform/prisma';
import { startPostgres } from '#test/postgres-server';
import { fillLedger } from './ledger/fill-ledger.js';
import { openPaidJobs, type PaidJobs } from './ledger/paid-jobs.js';
import { type BenchSubject, machineFacts, medianOf, publish, runInterleaved } from './report.js';
import { benchOptions, jsonOption, roundsOption } from './settings.js';

const options = benchOptions(
  `npm run bench -- ledger [options]

Admissions with a reservation and settlements per second, of one busy account beside many accounts, interleaved in one
run; then how long it takes to verify a ledger.`,
  {
    postgres: { value: 'URL', about: 'an empty database to use; a server is started, with fsync, when absent' },
    rounds: roundsOption,
    jobs: { value: 'N', about: 'jobs per run', default: 1_000 },
    entries: { value: 'N', about: 'entries to verify', default: 1_000_000 },
    json: jsonOption,
  },
);

/** Targets: one account reaches half the throughput of many accounts, and a million entries are verified in 10 s. */
const singleAccountTarget = 0.5;
const entriesPerSecondTarget = 100_000;
const accounts = 64;
const concurrency = 32;

function subject(name: string, jobs: number, work: PaidJobs): BenchSubject {
  return {
    name,
    run: async () => {
      const startedMs = performance.now();
      await work.run(jobs, concurrency);
      return { jobsPerSecond: (jobs * 1_000) / (performance.now() - startedMs) };
    },
  };
}

async function measureVerification(prisma: PrismaService, entries: number): Promise<BenchSubject> {
  await fillLedger(prisma, entries);
  const ledger = createLedger(prisma);
  return {
    name: 'verify',
    run: async () => {
      const startedMs = performance.now();
      const report = await ledger.verify();
      const seconds = (performance.now() - startedMs) / 1_000;
      if (!isConsistent(report)) throw new Error(`the ledger is broken: ${JSON.stringify(report.breaks, String)}`);
      return { seconds, entries: report.figures.entries, entriesPerSecond: report.figures.entries / seconds };
    },
  };
}

async function main(): Promise<void> {
  const { rounds, jobs, entries } = options;
  const startedAt = new Date().toISOString();
  const server = options.postgres === null ? await startPostgres({ fsync: 'on' }) : null;
  const url = options.postgres ?? server?.url ?? '';
  const prisma = new PrismaService({ url, poolSize: 20 });
  try {
    await migrate({ url });
    const onProgress = (line: string) => void process.stderr.write(`${line}\n`);
    const load = [
      subject('one account', jobs, await openPaidJobs(prisma, 1)),
      subject('many accounts', jobs, await openPaidJobs(prisma, accounts)),
    ];
    const results = await runInterleaved(load, { rounds, warmups: 1, onProgress });
    const verification = [await measureVerification(prisma, entries)];
    results.push(...(await runInterleaved(verification, { rounds: Math.min(rounds, 3), warmups: 0, onProgress })));
    const rate = (name: string) => medianOf(results, name, 'jobsPerSecond');
    const ratios = [
      {
        name: 'jobs/s, one account over many',
        value: rate('one account') / rate('many accounts'),
        aim: singleAccountTarget,
      },
      {
        name: 'entries verified per second',
        value: medianOf(results, 'verify', 'entriesPerSecond'),
        aim: entriesPerSecondTarget,
      },
    ];
    const settings = { rounds, jobs, entries, accounts, concurrency };
    await publish({ bench: 'ledger', startedAt, machine: machineFacts(), settings, results, ratios }, options.json);
  } finally {
    await prisma.$disconnect();
    await server?.close();
  }
}

await main();
