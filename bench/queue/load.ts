import { percentile, type Figures } from '../report.js';

/** How much one measured run does. */
export interface LoadSize {
  /** Jobs one after the other, for latency. */
  readonly pickups: number;
  /** Jobs at once, for throughput. */
  readonly jobs: number;
  /** Producers that add at the same time, each one job after the other, as requests do. */
  readonly producers: number;
}

/** A queue with a worker behind it that does nothing, in this process. */
export interface BenchQueue {
  /** Adds one job. Resolves once the store has it. */
  add(requestId: string): Promise<void>;
  /** Called when the worker begins a job, before it does anything. */
  onPickup: (requestId: string) => void;
  /** Called when a job is done, as its caller sees it. */
  onDone: (requestId: string) => void;
  close(): Promise<void>;
}

let counter = 0;

/** Pickup latency of an idle queue, then jobs per second of a full one. */
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
  const requestId = newId();
  let pickedUpAtMs = 0;
  queue.onPickup = () => {
    pickedUpAtMs = performance.now();
  };
  const done = new Promise<void>((resolve) => {
    queue.onDone = () => resolve();
  });
  const startedAtMs = performance.now();
  await Promise.all([queue.add(requestId), done]);
  return pickedUpAtMs - startedAtMs;
}

async function throughput(queue: BenchQueue, { jobs, producers }: LoadSize): Promise<number> {
  let left = jobs;
  queue.onPickup = () => undefined;
  const allDone = new Promise<void>((resolve) => {
    queue.onDone = () => {
      left -= 1;
      if (left === 0) resolve();
    };
  });
  let added = 0;
  const produce = async () => {
    while (added < jobs) {
      added += 1;
      await queue.add(newId());
    }
  };
  const startedAtMs = performance.now();
  await Promise.all(Array.from({ length: producers }, produce));
  await allDone;
  return (jobs * 1_000) / (performance.now() - startedAtMs);
}

function newId(): string {
  counter += 1;
  return `bench-${process.pid}-${counter}`;
}
