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

/** One kind of work on pictures, as each contestant needs it said. */
export interface MediaWork {
  /** First word of its figures. */
  name: string;
  model: InstalledModel;
  /** Through the whole platform; resolves when the caller holds the result. */
  ask(platform: Platform): Promise<void>;
  /** The same for the engine alone. */
  task: string;
  inputs: object[];
  /** And for the worker alone. */
  job: WorkerJob;
}

/** A process with models, and what it does with each work, in ms. */
interface RoleActor {
  ms(): Promise<number>;
  pid(): number;
  close(): Promise<void>;
}

/** Through HTTP, key, queue, worker, host, storage, decoder and encoder. */
export function platformSubject(platform: Platform, works: readonly MediaWork[]): BenchSubject {
  return subject(
    'sluice',
    works.map((work) => ({
      work,
      doer: {
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

/** Our engine in a process of its own for each model. */
export async function bareSubject(works: readonly MediaWork[], threads: number): Promise<BenchSubject> {
  const module = fileURLToPath(new URL('./bare-tasks.child.js', import.meta.url));
  const doers = works.map(async (work) => {
    const child = await BenchChild.start(module, bareLoad(work.model, threads));
    return { work, doer: childDoer(child, { task: work.task, inputs: work.inputs }) };
  });
  return subject('bare', await Promise.all(doers));
}

/** The worker's processors and our engine in one process for each model: all that no caller can do without. */
export async function workerSubject(works: readonly MediaWork[], threads: number): Promise<BenchSubject> {
  const module = fileURLToPath(new URL('./bare-worker.child.js', import.meta.url));
  const home = await mkdtemp(join(tmpdir(), 'sluice-bench-'));
  const doers = works.map(async (work) => {
    const { manifest } = work.model;
    const load: WorkerLoad = { manifest, host: bareLoad(work.model, threads), home };
    return { work, doer: childDoer(await BenchChild.start(module, load), work.job) };
  });
  const { close, ...rest } = subject('bare worker', await Promise.all(doers));
  return {
    ...rest,
    close: async () => {
      await close?.();
      await rm(home, { recursive: true, force: true });
    },
  };
}

/** A peer in `bench/peers`, for those works that it knows. */
export async function peerSubject(
  name: string,
  module: string,
  works: readonly { work: MediaWork; load: object; run: object }[],
): Promise<BenchSubject> {
  const doers = works.map(async ({ work, load, run }) => {
    const child = await BenchChild.start(resolve('bench/peers', module), load);
    return { work, doer: childDoer(child, run) };
  });
  return subject(name, await Promise.all(doers));
}

function childDoer(child: BenchChild, run: object): RoleActor {
  return {
    ms: async () => ((await child.call('run', run)) as { ms: number }).ms,
    pid: () => child.pid,
    close: () => child.close(),
  };
}

/** Every work once a round: its time, and the most that the process of its model has ever held. */
function subject(name: string, doers: readonly { work: MediaWork; doer: RoleActor }[]): BenchSubject {
  return {
    name,
    run: async () => {
      const figures: Record<string, number> = {};
      for (const { work, doer } of doers) {
        figures[`${work.name}Ms`] = await doer.ms();
        figures[`${work.name}PeakMiB`] = await peakMebibytes(doer.pid());
      }
      return figures;
    },
    close: async () => {
      for (const { doer } of doers) await doer.close();
    },
  };
}
