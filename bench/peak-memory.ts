import { runBytes } from '#platform/memory';
import { forkHost, HostSupervisor } from '#inference/host';
import { measurePeak } from '#test/measure-peak';
import { bareLoad, installAll } from './models.js';
import { generatedModels, type PeakCase, peakCases } from './peak-memory/cases.js';
import { formatTable } from './report.js';
import { benchOptions, homeOption } from './settings.js';

const {
  home,
  model: only,
  tolerance,
} = benchOptions(
  `node dist/bench/peak-memory.js [options]

Peak memory of requests in the host of each model, beside its weights, and the estimate by which the api refuses larger
ones, or the limit of a family without one. Fails where a peak exceeds either.`,
  {
    home: homeOption,
    model: { value: 'ID', about: 'only this model; may be repeated', isRepeated: true },
    tolerance: { value: 'N', about: 'peak over estimate or limit that still passes', default: 1 },
  },
);

const megabytes = (bytes: number): string => String(Math.round(bytes / 2 ** 20));

interface Measured {
  peakBytes: number;
  estimatedBytes: number | null;
}

async function measure(host: HostSupervisor, { run, pixels, frames }: PeakCase): Promise<Measured> {
  const { pid, report } = host;
  if (pid === null || report === null) throw new Error('the host is not running');
  const peakBytes = await measurePeak(pid, () => run(host));
  return { peakBytes, estimatedBytes: report.run === null ? null : runBytes(report.run, { pixels, frames }) };
}

async function whileReady(host: HostSupervisor, work: () => Promise<void>): Promise<void> {
  const ready = new Promise<void>((resolve, reject) => {
    host.onChange(({ state, reason }) => {
      if (state === 'ready') resolve();
      else if (state === 'restarting') reject(new Error(reason ?? 'the host ended'));
    });
  });
  host.start();
  try {
    await ready;
    await work();
  } finally {
    await host.drain(0);
  }
}

const rows: string[][] = [];
let isExceeded = false;
const models = [...new Set(peakCases.map(({ model }) => model))];
for (const id of models.filter((each) => only.length === 0 || only.includes(each))) {
  await generatedModels[id]?.(home);
  const [installed] = await installAll(home, [id]);
  if (installed === undefined) throw new Error(`${id} could not be installed`);
  const host = new HostSupervisor({
    load: bareLoad(installed, 2),
    launch: forkHost(),
    timings: { silentAfterMs: 300_000 },
  });
  await whileReady(host, async () => {
    for (const each of peakCases.filter(({ model }) => model === id)) {
      const { peakBytes, estimatedBytes } = await measure(host, each);
      const limitBytes = estimatedBytes ?? (each.limit ?? Infinity) * 2 ** 20;
      const exceeds = peakBytes > limitBytes * tolerance;
      isExceeded ||= exceeds;
      rows.push([
        `${id}: ${each.label}`,
        estimatedBytes === null ? '–' : megabytes(estimatedBytes),
        each.limit === undefined ? '–' : String(each.limit),
        `${megabytes(peakBytes)}${exceeds ? ' (too much)' : ''}`,
      ]);
      process.stderr.write(`${rows.at(-1)?.join(' | ')}\n`);
    }
  });
}
process.stdout.write(`${formatTable(['MB beside the weights', 'estimate', 'limit', 'peak'], rows)}\n`);
if (isExceeded) process.stdout.write('\nA peak exceeds its estimate or limit.\n');
process.exit(isExceeded ? 1 : 0);
