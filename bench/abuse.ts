import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { constants, setPriority } from 'node:os';
import { mebibyte } from '#common/values';
import { AccountsRepository, AccountsService } from '#accounts';
import { createLedger } from '#billing';
import { nanosPerUsd } from '#common';
import { PrismaService } from '#platform/prisma';
import { type Attack, attackList } from '#test/attacks';
import { startPlatform } from '#test/platform';
import type { AttackerArgument } from './abuse/attacker.js';
import { type BenchSubject, medianOf, percentile, type Ratio, runBench } from './report.js';
import { benchOptions, jsonOption, roundsOption } from './settings.js';

const options = benchOptions(
  `npm run bench -- abuse [options]

Latency of one caller while another one sends the worst it can, at most as fast as its limits allow: one API replica and
one worker with the deterministic test engine. Each attack runs in turns with a quiet run.`,
  {
    rounds: { ...roundsOption, default: 3 },
    seconds: { value: 'N', about: 'seconds per run', default: 5 },
    sockets: { value: 'N', about: 'connections of the attacks that only open them', default: 10_000 },
    only: { value: 'NAME', about: 'run this attack; may be repeated', isRepeated: true },
    json: jsonOption,
  },
);

/** Maximum p99 beside an attack over the quiet p99; maximum memory of the api; memory at most 15 s after over before. */
const aims = { latency: 3, residentMb: 512, memoryLeft: 1.3 };
/** Requests per second of the other caller. */
const perSecond = 20;

const platform = await startPlatform({ ownPostgres: true, env: { SLUICE_ABUSE_FAILURES: '20' } });

async function newAttackerKey(): Promise<string> {
  const prisma = new PrismaService({ url: platform.databaseUrl, poolSize: 1 });
  try {
    const accounts = new AccountsService(new AccountsRepository(prisma));
    const { id: accountId } = await accounts.createAccount('attacker');
    await createLedger(prisma).credit('grant', { accountId, currency: 'USD', amountNano: 100n * nanosPerUsd });
    return (await accounts.createKey({ accountId, kind: 'INFERENCE' })).key;
  } finally {
    await prisma.$disconnect();
  }
}

async function residentMb(): Promise<number> {
  const status = await readFile(`/proc/${platform.pid('api')}/status`, 'utf8');
  return (Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1024) / mebibyte;
}

/** The memory some seconds later: the collector of an idle process takes its time. Waits up to 15 s until it is enough. */
async function settledMb(enoughMb: number): Promise<number> {
  for (let second = 0; second < 15; second += 1) {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    if ((await residentMb()) <= enoughMb) break;
  }
  return await residentMb();
}

const body = JSON.stringify({ model: 'tiny-llama', messages: [{ role: 'user', content: 'Hello [[tokens=4]]' }] });

/** Ms until the response, or null when there was none. */
async function ask(): Promise<number | null> {
  const startedAt = performance.now();
  const response = await fetch(`${platform.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' },
    body,
  });
  await response.text();
  return response.status === 200 ? performance.now() - startedAt : null;
}

/** At low priority: a real attacker has a machine of its own. Resolves when its attack begins. */
async function startAttacker(argument: AttackerArgument): Promise<ChildProcess> {
  const attacker = fork(new URL('abuse/attacker.js', import.meta.url), [JSON.stringify(argument)]);
  const begins = Promise.race([once(attacker, 'message'), once(attacker, 'exit')]);
  if (attacker.pid !== undefined) setPriority(attacker.pid, constants.priority.PRIORITY_LOW);
  await begins;
  return attacker;
}

async function endAttacker(attacker: ChildProcess): Promise<void> {
  if (attacker.exitCode !== null) throw new Error('The attacker ended before its attack.');
  const ended = once(attacker, 'exit');
  attacker.disconnect();
  await ended;
}

/** The other caller alone, or beside an attack. */
function subject(attack: string | null): BenchSubject {
  return {
    name: attack ?? 'quiet',
    run: async () => {
      const key = await newAttackerKey();
      const before = await residentMb();
      const target = { port: platform.port, key, model: 'tiny-llama' };
      const attacker = attack === null ? null : await startAttacker({ name: attack, sockets: options.sockets, target });
      const asked: Promise<number | null>[] = [];
      let peak = 0;
      for (let index = 0; index < options.seconds * perSecond; index += 1) {
        asked.push(ask().catch(() => null));
        peak = Math.max(peak, await residentMb());
        await new Promise((resolve) => setTimeout(resolve, 1_000 / perSecond));
      }
      const times = await Promise.all(asked);
      if (attacker !== null) await endAttacker(attacker);
      const served = times.filter((ms) => ms !== null);
      return {
        p50Ms: percentile(served, 50),
        p99Ms: percentile(served, 99),
        failed: times.length - served.length,
        peakMb: peak,
        memoryLeft: (await settledMb(before * aims.memoryLeft)) / before,
      };
    },
  };
}

const wanted = ({ name }: Attack): boolean => options.only.length === 0 || options.only.includes(name);
const attacks = attackList({ sockets: options.sockets }).filter(wanted);
try {
  await runBench({
    name: 'abuse',
    settings: { rounds: options.rounds, seconds: options.seconds, sockets: options.sockets },
    subjects: [subject(null), ...attacks.map(({ name }) => subject(name))],
    rounds: options.rounds,
    json: options.json,
    ratiosOf: (results) =>
      attacks.flatMap(({ name }): Ratio[] => [
        {
          name: `${name} / quiet, p99Ms`,
          value: medianOf(results, name, 'p99Ms') / medianOf(results, 'quiet', 'p99Ms'),
          aim: aims.latency,
          isLimit: true,
        },
        { name: `${name}, failed`, value: medianOf(results, name, 'failed'), aim: 0, isLimit: true },
        { name: `${name}, peakMb`, value: medianOf(results, name, 'peakMb'), aim: aims.residentMb, isLimit: true },
        {
          name: `${name}, memoryLeft`,
          value: medianOf(results, name, 'memoryLeft'),
          aim: aims.memoryLeft,
          isLimit: true,
        },
      ]),
  });
} finally {
  await platform.stop();
}
