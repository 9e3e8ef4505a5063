import type { LoadResult } from '../admission/http-load.js';
import { type BenchSubjectResult, type Figures, medianOf, type Ratio } from '../report.js';

/** Minimum throughput of a worker in a fleet relative to a single worker. */
const aim = 0.9;

/** Cost of a run besides time: CPU time by process, and database size in bytes. */
export interface RunCost {
  workers: number;
  cpuMs: Record<string, number>;
  bytes: { stored: number; logged: number };
}

/** Figures of one run: throughput per worker, and cost per job over all workers. */
export function fleetFigures(
  { requests, seconds, p50Ms }: Pick<LoadResult, 'requests' | 'seconds' | 'p50Ms'>,
  { workers, cpuMs, bytes }: RunCost,
): Figures {
  const perSecond = requests / seconds;
  const sums: Record<string, number> = {};
  for (const [name, ms] of Object.entries(cpuMs)) {
    const process = name.replace(/-\d+$/, '');
    sums[process] = (sums[process] ?? 0) + ms;
  }
  const { load = 0, ...platform } = sums;
  const cpu = Object.entries({ ...platform, all: Object.values(platform).reduce((sum, ms) => sum + ms, 0), load });
  return {
    perSecond,
    perWorkerPerSecond: perSecond / workers,
    p50Ms,
    ...Object.fromEntries(cpu.map(([name, ms]) => [`${name}CpuMs`, ms / requests])),
    storedBytes: bytes.stored / requests,
    loggedBytes: bytes.logged / requests,
  };
}

/** Ratio of every fleet to the first one of the same run. */
export function fleetRatios(results: readonly BenchSubjectResult[], names: readonly string[]): Ratio[] {
  const [first = '', ...others] = names;
  const alone = medianOf(results, first, 'perWorkerPerSecond');
  return others.map((name) => ({
    name: `each of ${name} over ${first}`,
    value: medianOf(results, name, 'perWorkerPerSecond') / alone,
    aim,
  }));
}
