import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startPlatform } from '#test/platform';
import { installTinyImages } from '#test/tiny-images';
import { installTinyModel } from '#test/tiny-models';
import { installTinyWhisper } from '#test/tiny-speech';
import { formatTable } from './report.js';
import { benchOptions } from './settings.js';
import { memoryByName, processMemory } from './soak/process-memory.js';
import { largeUploads } from './soak/uploads.js';

const { minutes, parallel } = benchOptions(
  `npm run bench -- soak [options]

Large uploads to the whole platform on tiny models of the real engine, several at once. Prints the memory of every
process in three rests at the start, every minute, and in three rests at the end. Fails when one has more than 1.3 times
its memory then.`,
  {
    minutes: { value: 'N', about: 'length of the load after the start, at least 3', default: 15 },
    parallel: { value: 'N', about: 'requests at once', default: 2 },
  },
);

/** Maximum memory at the end over that at the start. */
const maxGrowth = 1.3;
/** Time without requests before a measurement, in ms: image decoders end after 30 s, and idle processes collect. */
const restMs = 45_000;
/**
 * Rests at the start and at the end, each after a minute of load. What an allocator keeps of freed memory differs from
 * rest to rest, so the highest of them is compared. Those at the start also warm up: what a process takes once for so
 * many requests at a time does not grow.
 */
const rests = 3;

if (minutes < rests) {
  process.stderr.write(`--minutes must be at least ${rests}, for the rests at the end.\n`);
  process.exit(2);
}

const home = await mkdtemp(join(tmpdir(), 'sluice-soak-'));
const manifests = [
  ...(await installTinyImages(home)),
  await installTinyWhisper(home),
  await installTinyModel(home, { id: 'tiny-llama' }),
];
const platform = await startPlatform({ engine: 'text', ownPostgres: true, home, manifests });
const uploads = await largeUploads();
let sent = 0;

async function sendNext(): Promise<void> {
  const upload = uploads[sent % uploads.length];
  sent += 1;
  await upload?.(platform);
}

/** Sends uploads, so many at a time. */
async function sendUntil(endMs: number): Promise<void> {
  const sendOneByOne = async (): Promise<void> => {
    while (performance.now() < endMs) await sendNext();
  };
  await Promise.all(Array.from({ length: parallel }, sendOneByOne));
}

const samples: { label: string; memory: Map<string, number> }[] = [];

async function sample(label: string): Promise<void> {
  const hosts = new Map(manifests.map(({ id }) => [platform.hostPid(id), id]));
  const processes = await processMemory();
  const named = processes.map((each) => ({ ...each, name: hosts.get(each.pid) ?? each.name }));
  samples.push({ label, memory: memoryByName(named) });
  const memory = [...(samples.at(-1)?.memory ?? [])].map(([name, bytes]) => `${name} ${inMegabytes(bytes)}`);
  process.stderr.write(`${label}, ${sent} uploads: ${memory.join(', ')} MB\n`);
}

/** A minute of load and a rest, several times. */
async function restAfterLoad(label: string): Promise<void> {
  for (let rest = 1; rest <= rests; rest += 1) {
    await sendUntil(performance.now() + 60_000);
    await sleep(restMs);
    await sample(`${label} ${rest}`);
  }
}

function inMegabytes(bytes: number): string {
  return String(Math.round(bytes / 2 ** 20));
}

let exitCode = 0;
try {
  await restAfterLoad('start');
  for (let minute = 1; minute <= minutes - rests; minute += 1) {
    await sendUntil(performance.now() + 60_000);
    await sample(`minute ${minute}`);
  }
  await restAfterLoad('end');
  const [atStart, atEnd] = [samples.slice(0, rests), samples.slice(-rests)];
  const highest = (of: typeof samples, name: string): number =>
    Math.max(...of.map(({ memory }) => memory.get(name) ?? 0));
  const names = [...(samples[0]?.memory.keys() ?? [])];
  const growth = (name: string): number => highest(atEnd, name) / highest(atStart, name);
  const rows = names.map((name) => [
    name,
    ...samples.map(({ memory }) => inMegabytes(memory.get(name) ?? 0)),
    growth(name).toFixed(2),
  ]);
  const head = ['MB', ...samples.map(({ label }) => label), 'end / start'];
  process.stdout.write(`${sent} uploads in ${minutes} minutes\n\n${formatTable(head, rows)}\n`);
  const grown = names.filter((name) => growth(name) > maxGrowth);
  if (grown.length > 0) process.stdout.write(`\nMore than ${maxGrowth} times as much: ${grown.join(', ')}\n`);
  exitCode = grown.length > 0 ? 1 : 0;
} finally {
  await platform.stop();
  await rm(home, { recursive: true, force: true });
}
process.exit(exitCode);
