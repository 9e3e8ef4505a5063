import { formatTable } from '../report.js';

/*
 * How many processes and cores a load takes, from what a request was measured to cost. docs/scaling.md shows these
 * tables; a test holds it to them.
 */

/** Processor time of one request in ms, by process: `npm run bench:admission`, as docs/performance.md has it. */
export const costMs = { api: 0.642, ops: 0.221, worker: 0.463, postgres: 1.18, redis: 0.27 } as const;
export type Part = keyof typeof costMs;

/** How much of a core is planned with: the rest is for peaks and for a neighbour that fails. */
const utilisation = 0.6;

/** Requests per minute. */
const loads = [100, 10_000, 1_000_000] as const;

/** What there is of each at least, so that one of it may fail; PostgreSQL and Redis have their replicas beside. */
const fewest: Record<Part, number> = { api: 2, ops: 2, worker: 1, postgres: 1, redis: 1 };

/** Cores that are busy all the time. */
export function busyCores(part: Part, perMinute: number): number {
  return ((perMinute / 60) * costMs[part]) / 1_000;
}

/** Cores to have. Every part but PostgreSQL is one thread, so that these are processes. */
export function neededCores(part: Part, perMinute: number): number {
  return Math.max(fewest[part], Math.ceil(busyCores(part, perMinute) / utilisation));
}

const names: Record<Part, string> = {
  api: 'api, processes',
  ops: 'ops, processes',
  worker: 'workers, cores for the queue alone',
  postgres: 'PostgreSQL, cores',
  redis: 'Redis, servers of one core',
};

const inWords = (value: number): string => value.toLocaleString('en-US');

/** One row a part: what a request costs, and for each load the busy cores and what to have. */
export function capacityTable(): string {
  const rows = (Object.keys(costMs) as Part[]).map((part) => [
    names[part],
    costMs[part].toFixed(2),
    ...loads.map((perMinute) => `${busyCores(part, perMinute).toFixed(3)} → ${neededCores(part, perMinute)}`),
  ]);
  return formatTable(['', 'ms', ...loads.map((perMinute) => `${inWords(perMinute)}/min`)], rows);
}

/** Tokens per second of a worker of two cores with all 16 places taken: TinyLlama 1.1B, 4 bits, docs/performance.md. */
const tokensPerSecond = 172;
const answerTokens = 200;

/** Workers of that kind whose arithmetic keeps up with answers of 200 tokens. */
export function modelWorkers(perMinute: number): number {
  return Math.ceil(((perMinute / 60) * answerTokens) / tokensPerSecond / utilisation);
}

/** What the arithmetic of a model takes beside. */
export function workerTable(): string {
  const cells = loads.map((perMinute) => inWords(modelWorkers(perMinute)));
  return formatTable(
    ['', ...loads.map((perMinute) => `${inWords(perMinute)}/min`)],
    [['workers of two cores', ...cells]],
  );
}
