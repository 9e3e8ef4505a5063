import type { BenchRequest } from './workload.js';
import type { StreamTiming } from './timing.js';

/** How to run one repetition. */
export interface RunPlan {
  requests: readonly BenchRequest[];
  /** Concurrent requests. */
  concurrency: number;
}

/** Generates text for a workload. Only one contender runs at a time. */
export interface Contender {
  readonly name: string;
  /** One timing per request, in the order of the plan. */
  run(plan: RunPlan): Promise<StreamTiming[]>;
  /** Resident memory of all its processes, in bytes. */
  residentBytes(): Promise<number>;
  close(): Promise<void>;
}

/** Milliseconds on a clock shared by all processes of a machine. */
export const sharedNowMs = (): number => performance.timeOrigin + performance.now();

/** Runs `work` over `items`, `concurrency` at a time, and returns the results in order. */
export async function runLanes<Item, Result>(
  items: readonly Item[],
  concurrency: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const lane = async () => {
    while (next < items.length) {
      const index = next++;
      const item = items[index];
      if (item !== undefined) results[index] = await work(item);
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, lane));
  return results;
}
