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
  `node dist/bench/soak.js [options]

Large uploads to the whole platform on tiny models of the real engine, one after another. Prints the memory of every
process after a first round of each, every minute, and at the end. Fails when one has more than 1.3 times its memory.`,
  {
    minutes: { value: 'N', about: 'length of the load', default: 15 },
    parallel: { value: 'N', about: 'requests at once', default: 2 },
  },
);

/** Maximum memory at the end over that at the start. */
const maxGrowth = 1.3;
/** Time without requests before a measurement, in ms. */
const restMs = 15_000;

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

const samples: { label: string; memory: Map<string, number> }[] = [];

async function sample(label: string): Promise<void> {
  const hosts = new Map(manifests.map(({ id }) => [platform.hostPid(id), id]));
  const processes = await processMemory();
  const named = processes.map((each) => ({ ...each, name: hosts.get(each.pid) ?? each.name }));
  samples.push({ label, memory: memoryByName(named) });
  const memory = [...(samples.at(-1)?.memory ?? [])].map(([name, bytes]) => `${name} ${inMegabytes(bytes)}`);
  process.stderr.write(`${label}, ${sent} uploads: ${memory.join(', ')} MB\n`);
}

function inMegabytes(bytes: number): string {
  return String(Math.round(bytes / 2 ** 20));
}

let exitCode = 0;
try {
  for (let round = 0; round < uploads.length * 2; round += 1) await sendNext();
  await sleep(restMs);
  await sample('start');
  const startMs = performance.now();
  const endMs = startMs + minutes * 60_000;
  let nextMs = startMs + 60_000;
  const sending = Array.from({ length: parallel }, async () => {
    while (performance.now() < endMs) await sendNext();
  });
  const sampling = (async () => {
    for (; nextMs < endMs; nextMs += 60_000) {
      await sleep(nextMs - performance.now());
      await sample(`minute ${Math.round((nextMs - startMs) / 60_000)}`);
    }
  })();
  await Promise.all([...sending, sampling]);
  await sleep(restMs);
  await sample('end');
  const [first, last] = [samples[0], samples.at(-1)];
  const names = [...(first?.memory.keys() ?? [])];
  const growth = (name: string): number => (last?.memory.get(name) ?? 0) / (first?.memory.get(name) ?? 1);
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
