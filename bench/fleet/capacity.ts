import { formatTable } from '../report.js';

/*
 * Computes the processes and cores for a load from the measured cost of a request. docs/operate/scaling.md shows these tables,
 * and a test compares them.
 */

/** CPU time of one request in ms, by process, measured with `npm run bench -- admission` (docs/operate/performance.md). */
export const costMs = { api: 0.642, ops: 0.221, worker: 0.463, postgres: 1.18, redis: 0.27 } as const;
export type Part = keyof typeof costMs;

/** Planned utilization of a core; the rest is for peaks and failover. */
const utilisation = 0.6;

/** Requests per minute. */
const loads = [100, 10_000, 1_000_000] as const;

/** Minimum number of each process, so that one may fail; PostgreSQL and Redis have their own replicas. */
const fewest: Record<Part, number> = { api: 2, ops: 2, worker: 1, postgres: 1, redis: 1 };

/** Cores in constant use. */
export function busyCores(part: Part, perMinute: number): number {
  return ((perMinute / 60) * costMs[part]) / 1_000;
}

/** Cores to provision. Every part except PostgreSQL is single-threaded, so these are processes. */
export function neededCores(part: Part, perMinute: number): number {
  return Math.max(fewest[part], Math.ceil(busyCores(part, perMinute) / utilisation));
}

const names: Record<Part, string> = {
  api: 'api, processes',
  ops: 'ops, processes',
  worker: 'workers, cores for the queue only',
  postgres: 'PostgreSQL, cores',
  redis: 'Redis, servers of one core',
};

const inWords = (value: number): string => value.toLocaleString('en-US');

/** One row per part: the cost of a request and, for each load, the busy and the provisioned cores. */
export function capacityTable(): string {
  const rows = (Object.keys(costMs) as Part[]).map((part) => [
    names[part],
    costMs[part].toFixed(2),
    ...loads.map((perMinute) => `${busyCores(part, perMinute).toFixed(3)} → ${neededCores(part, perMinute)}`),
  ]);
  return formatTable(['', 'ms', ...loads.map((perMinute) => `${inWords(perMinute)}/min`)], rows);
}

/** Tokens per second of a two-core worker with all 16 slots in use: TinyLlama 1.1B, 4 bits, docs/operate/performance.md. */
const tokensPerSecond = 172;
const responseTokens = 200;

/** Number of such workers that can compute responses of 200 tokens. */
export function modelWorkers(perMinute: number): number {
  return Math.ceil(((perMinute / 60) * responseTokens) / tokensPerSecond / utilisation);
}
