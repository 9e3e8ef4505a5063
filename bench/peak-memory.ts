import { hostEnvironment } from '../apps/worker/src/host-environment.js';
import { runBytes } from '#model-memory';
import { forkHost, HostSupervisor } from '#inference/host';
import { measurePeak, readPeak } from '#test/measure-peak';
import { pidOf, whileReady } from '#test/running-host';
import { bareLoad, installAll } from './models.js';
import { estimateHost } from './peak-memory/estimate-host.js';
import { generatedModels, type PeakCase, peakCases } from './peak-memory/cases.js';
import { formatTable } from './report.js';
import { benchOptions, homeOption } from './settings.js';

const {
  home,
  model: only,
  tolerance,
  within,
} = benchOptions(
  `npm run bench -- peak-memory [options]

Peak memory of requests in the host of each model, beside its weights, and the estimate by which the api refuses larger
ones, or the limit of a family without one. Then the peak of the whole host and its estimate. Fails where a peak exceeds
an estimate or limit, or where the estimate of a whole host is more than --within percent too low, or for a decoder of
our converters too high.`,
  {
    home: homeOption,
    model: { value: 'ID', about: 'only this model; may be repeated', isRepeated: true },
    tolerance: { value: 'N', about: 'peak over estimate or limit that still passes', default: 1 },
    within: { value: 'N', about: 'percent between the peak of a host and its estimate that still pass', default: 15 },
  },
);

// As in the images: a worker passes them on to hosts of some families.
Object.assign(process.env, {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '65536',
  MALLOC_TRIM_THRESHOLD_: '65536',
});

const megabytes = (bytes: number): string => String(Math.round(bytes / 2 ** 20));

interface Measured {
  peakBytes: number;
  /** Of the whole process. */
  hostBytes: number;
  estimatedBytes: number | null;
}

async function measure(host: HostSupervisor, { run, pixels, frames }: PeakCase): Promise<Measured> {
  const peakBytes = await measurePeak(pidOf(host), () => run(host, home));
  const shape = host.report?.run ?? null;
  return {
    peakBytes,
    hostBytes: await readPeak(pidOf(host)),
    estimatedBytes: shape === null ? null : runBytes(shape, { pixels, frames }),
  };
}

/** The cases of each host: of one model that is used in one way. */
function hostsOf(cases: readonly PeakCase[]): [PeakCase, ...PeakCase[]][] {
  const byUse = new Map<string, [PeakCase, ...PeakCase[]]>();
  for (const each of cases) {
    const key = JSON.stringify([each.model, each.use]);
    const others = byUse.get(key);
    if (others === undefined) byUse.set(key, [each]);
    else others.push(each);
  }
  return [...byUse.values()];
}

const rows: string[][] = [];
const hosts: string[][] = [];
let isExceeded = false;
for (const cases of hostsOf(peakCases.filter(({ model }) => only.length === 0 || only.includes(model)))) {
  const [{ model: id, use }] = cases;
  await generatedModels[id]?.(home);
  const [installed] = await installAll(home, [id]);
  if (installed === undefined) throw new Error(`${id} could not be installed`);
  const load = { ...bareLoad(installed, 2), ...use };
  const host = new HostSupervisor({
    load,
    launch: forkHost({ env: hostEnvironment }),
    timings: { silentAfterMs: 300_000 },
  });
  await whileReady(host, async () => {
    let hostBytes = await readPeak(pidOf(host));
    let largestRun = 0;
    for (const each of cases) {
      const { peakBytes, estimatedBytes, ...measured } = await measure(host, each);
      hostBytes = Math.max(hostBytes, measured.hostBytes);
      largestRun = Math.max(largestRun, estimatedBytes ?? 0);
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
    const estimate = await estimateHost(installed, load, largestRun);
    const ratio = estimate.bytes / hostBytes;
    const differs = ratio < 1 - within / 100 || (estimate.isExact && ratio > 1 + within / 100);
    isExceeded ||= differs;
    const name = `${id} (${installed.manifest.family}${use === undefined ? '' : `, ${use.cacheTokens} tokens`})`;
    hosts.push([
      name,
      megabytes(estimate.bytes),
      megabytes(hostBytes),
      `${ratio.toFixed(2)}${differs ? ' (off)' : ''}`,
    ]);
    process.stderr.write(`${hosts.at(-1)?.join(' | ')}\n`);
  });
}
process.stdout.write(`${formatTable(['MB beside the weights', 'estimate', 'limit', 'peak'], rows)}\n`);
process.stdout.write(`\n${formatTable(['MB of the whole host', 'estimate', 'peak', 'ratio'], hosts)}\n`);
if (isExceeded) process.stdout.write('\nA peak exceeds its estimate or limit, or differs from it.\n');
process.exit(isExceeded ? 1 : 0);
