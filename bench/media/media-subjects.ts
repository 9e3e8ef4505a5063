import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { InstalledModel } from '#model-store';
import type { Platform } from '#test/platform';
import { bareLoad } from '../models.js';
import type { BenchSubject } from '../report.js';
import { BenchChild } from '../text/child.contender.js';
import { peakMebibytes } from '../transcription/peak-memory.js';
import type { WorkerJob, WorkerLoad } from './bare-worker.child.js';

/** One image task, described for each subject. */
export interface MediaWork {
  /** Prefix of its figures. */
  name: string;
  model: InstalledModel;
  /** Runs through the whole platform; resolves when the client has the result. */
  ask(platform: Platform): Promise<void>;
  /** The same for the engine only. */
  task: string;
  inputs: object[];
  /** The same for the worker only. */
  job: WorkerJob;
}

/** A process with models; reports the duration of each task in ms. */
interface RoleActor {
  ms(): Promise<number>;
  pid(): number;
  close(): Promise<void>;
}

/** Uses HTTP, key, queue, worker, host, storage, decoder and encoder. */
export function platformSubject(platform: Platform, works: readonly MediaWork[]): BenchSubject {
  return subject(
    'sluice',
    works.map((work) => ({
      work,
      runner: {
        ms: async () => {
          const startedAt = performance.now();
          await work.ask(platform);
          return performance.now() - startedAt;
        },
        pid: () => platform.hostPid(work.model.manifest.id),
        close: async () => undefined,
      },
    })),
  );
}

/** Our engine in one process per model. */
export async function bareSubject(works: readonly MediaWork[], threads: number): Promise<BenchSubject> {
  const module = fileURLToPath(new URL('./bare-tasks.child.js', import.meta.url));
  const runners = works.map(async (work) => {
    const child = await BenchChild.start(module, bareLoad(work.model, threads));
    return { work, runner: childRunner(child, { task: work.task, inputs: work.inputs }) };
  });
  return subject('bare', await Promise.all(runners));
}

/** The worker's processors and our engine in one process per model: the minimum that any client needs. */
export async function workerSubject(works: readonly MediaWork[], threads: number): Promise<BenchSubject> {
  const module = fileURLToPath(new URL('./bare-worker.child.js', import.meta.url));
  const home = await mkdtemp(join(tmpdir(), 'sluice-bench-'));
  const runners = works.map(async (work) => {
    const { manifest } = work.model;
    const load: WorkerLoad = { manifest, host: bareLoad(work.model, threads), home };
    return { work, runner: childRunner(await BenchChild.start(module, load), work.job) };
  });
  const { close, ...rest } = subject('bare worker', await Promise.all(runners));
  return {
    ...rest,
    close: async () => {
      await close?.();
      await rm(home, { recursive: true, force: true });
    },
  };
}

/** A peer in `bench/peers`, for the tasks it supports. */
export async function peerSubject(
  name: string,
  module: string,
  works: readonly { work: MediaWork; load: object; run: object }[],
): Promise<BenchSubject> {
  const runners = works.map(async ({ work, load, run }) => {
    const child = await BenchChild.start(resolve('bench/peers', module), load);
    return { work, runner: childRunner(child, run) };
  });
  return subject(name, await Promise.all(runners));
}

function childRunner(child: BenchChild, run: object): RoleActor {
  return {
    ms: async () => ((await child.call('run', run)) as { ms: number }).ms,
    pid: () => child.pid,
    close: () => child.close(),
  };
}

/** Runs every task once per round: its duration, and the peak memory of its model process. */
function subject(name: string, runners: readonly { work: MediaWork; runner: RoleActor }[]): BenchSubject {
  return {
    name,
    run: async () => {
      const figures: Record<string, number> = {};
      for (const { work, runner } of runners) {
        figures[`${work.name}Ms`] = await runner.ms();
        figures[`${work.name}PeakMiB`] = await peakMebibytes(runner.pid());
      }
      return figures;
    },
    close: async () => {
      for (const { runner } of runners) await runner.close();
    },
  };
}
