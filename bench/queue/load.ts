import { percentile, type Figures } from '../report.js';

/** Size of one measured run. */
export interface LoadSize {
  /** Sequential jobs, for latency. */
  readonly pickups: number;
  /** Concurrent jobs, for throughput. */
  readonly jobs: number;
  /** Concurrent producers; each adds jobs one after another, as requests do. */
  readonly producers: number;
}

/** A batch of jobs to add. */
export interface ExpectedJobs {
  /** When the worker picks up the first job, in ms since the epoch. */
  readonly pickedUp: Promise<number>;
  /** Resolves when all jobs are done: completed, and reported to the caller if one waits. */
  readonly done: Promise<void>;
}

/** A queue with its producer in this process and a no-op worker in another. */
export interface BenchQueue {
  /** Adds one job. Resolves once the store has it. */
  add(requestId: string): Promise<void>;
  /** Resolves when both sides are ready to count this many jobs. */
  expect(jobs: number): Promise<ExpectedJobs>;
  close(): Promise<void>;
}

/** Current time in ms since the epoch, finer than `Date.now` and comparable between processes of one machine. */
export function preciseNowMs(): number {
  return performance.timeOrigin + performance.now();
}

let counter = 0;

/** Measures the pickup latency of an idle queue, then the throughput of a full one. */
export async function measure(queue: BenchQueue, size: LoadSize): Promise<Figures> {
  const latenciesMs: number[] = [];
  for (let index = 0; index < size.pickups; index += 1) latenciesMs.push(await pickUpOne(queue));
  const jobsPerSecond = await throughput(queue, size);
  return {
    pickupP50Ms: percentile(latenciesMs, 50),
    pickupP95Ms: percentile(latenciesMs, 95),
    pickupP99Ms: percentile(latenciesMs, 99),
    jobsPerSecond,
  };
}

async function pickUpOne(queue: BenchQueue): Promise<number> {
  const { pickedUp, done } = await queue.expect(1);
  const startedAtMs = preciseNowMs();
  const [pickedUpAtMs] = await Promise.all([pickedUp, done, queue.add(newId())]);
  return pickedUpAtMs - startedAtMs;
}

async function throughput(queue: BenchQueue, { jobs, producers }: LoadSize): Promise<number> {
  const { done } = await queue.expect(jobs);
  let added = 0;
  const produce = async () => {
    while (added < jobs) {
      added += 1;
      await queue.add(newId());
    }
  };
  const startedAtMs = performance.now();
  await Promise.all(Array.from({ length: producers }, produce));
  await done;
  return (jobs * 1_000) / (performance.now() - startedAtMs);
}

function newId(): string {
  counter += 1;
  return `bench-${process.pid}-${counter}`;
}
