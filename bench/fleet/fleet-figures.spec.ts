import { describe, expect, it } from 'vitest';
import { fleetFigures, fleetRatios } from './fleet-figures.js';

const runOf = (requests: number) => ({ requests, seconds: 10, p50Ms: 200 });
const resultOf = (name: string, perWorkerPerSecond: number) => ({
  name,
  rounds: 1,
  figures: { perWorkerPerSecond: { median: perWorkerPerSecond, min: 0, max: 0 } },
});

describe('a fleet', () => {
  it('counts the jobs of each worker, and the CPU time of all workers as one process', () => {
    const cpuMs = { api: 400, worker: 200, 'worker-2': 200, 'worker-12': 100, load: 900 };
    expect(fleetFigures(runOf(400), { workers: 4, cpuMs, bytes: { stored: 4_000, logged: 8_000 } })).toEqual({
      perSecond: 40,
      perWorkerPerSecond: 10,
      p50Ms: 200,
      apiCpuMs: 1,
      workerCpuMs: 1.25,
      allCpuMs: 2.25,
      loadCpuMs: 2.25,
      storedBytes: 10,
      loggedBytes: 20,
    });
  });

  it('compares each fleet with the smallest one of the same run', () => {
    const results = [resultOf('1 worker', 20), resultOf('8 workers', 17)];
    expect(fleetRatios(results, ['1 worker', '8 workers'])).toEqual([
      { name: 'each of 8 workers over 1 worker', value: 0.85, aim: 0.9 },
    ]);
  });
});
