import { migrate } from '#platform/migrations';
import { PrismaService } from '#platform/prisma';
import { startPostgres } from '#test/postgres-server';
import {
  type BenchSubject,
  type Figures,
  machineFacts,
  medianOf,
  percentile,
  publish,
  runInterleaved,
} from './report.js';
import { benchOptions, jsonOption, roundsOption } from './settings.js';
import { ApiProcess } from './usage/api-process.js';
import { fillUsage } from './usage/fill-usage.js';

const options = benchOptions(
  `npm run bench -- usage-history [options]

How long a page of the usage history takes, asked of an api over HTTP, near the beginning and far from it: once every
page of 1,000 positions in turn, then interleaved rounds of pages of several kinds, and the sums of analytics.`,
  {
    postgres: { value: 'URL', about: 'an empty database to use; a server is started when absent' },
    positions: { value: 'N', about: 'ledger positions of the account', default: 1_000_000 },
    rounds: roundsOption,
    pages: { value: 'N', about: 'pages per round and kind', default: 40 },
    json: jsonOption,
  },
);

/** Target: a median of at most 100 ms for any page. */
const pageTargetMs = 100;
const pageSize = 1_000;
const oneDayMs = 86_400_000;

interface TimedPage {
  ms: number;
  nextCursor: string | null;
  rows: number;
}

/** Requests pages as a client does and reads the whole response. */
class Reader {
  constructor(
    private readonly baseUrl: string,
    private readonly key: string,
  ) {}

  async page(query: string): Promise<TimedPage> {
    const { ms, body } = await this.get(`/billing/usage-history${query}`);
    const { data, nextCursor } = JSON.parse(body) as { data: unknown[]; nextCursor: string | null };
    return { ms, nextCursor, rows: data.length };
  }

  async get(path: string, accept = 'application/json'): Promise<{ ms: number; body: string }> {
    const startedMs = performance.now();
    const headers = { authorization: `Bearer ${this.key}`, accept };
    const response = await fetch(this.baseUrl + path, { headers });
    const body = await response.text();
    const ms = performance.now() - startedMs;
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${body.slice(0, 500)}`);
    return { ms, body };
  }

  /** Follows cursors from a query for at most `pages` pages. */
  async walk(query: string, pages: number): Promise<TimedPage[]> {
    const walked: TimedPage[] = [];
    for (let next: string | null = query; next !== null && walked.length < pages;) {
      const page: TimedPage = await this.page(next);
      walked.push(page);
      next = page.nextCursor === null ? null : `?cursor=${page.nextCursor}`;
    }
    return walked;
  }
}

function figuresOf(milliseconds: readonly number[]): Figures {
  return {
    medianMs: percentile(milliseconds, 50),
    p95Ms: percentile(milliseconds, 95),
    maxMs: Math.max(...milliseconds),
  };
}

/** Pages of the same kind; `query` builds the first one of a round. */
function walker(name: string, reader: Reader, pages: number, query: () => string): BenchSubject {
  const run = async () => figuresOf((await reader.walk(query(), pages)).map(({ ms }) => ms));
  return { name, run };
}

/** Single pages at random positions. */
function jumper(name: string, pages: number, ask: () => Promise<{ ms: number }>): BenchSubject {
  const run = async () => {
    const milliseconds: number[] = [];
    for (let page = 0; page < pages; page += 1) milliseconds.push((await ask()).ms);
    return figuresOf(milliseconds);
  };
  return { name, run };
}

function subjects(reader: Reader, pages: number, days: number, deepCursor: string): BenchSubject[] {
  const somewhere = () => new Date(Date.now() - Math.random() * days * oneDayMs).toISOString();
  return [
    walker('first pages', reader, pages, () => `?pageSize=${pageSize}`),
    walker('last pages', reader, pages, () => `?cursor=${deepCursor}`),
    jumper('from any time', pages, () => reader.page(`?startTimestamp=${somewhere()}`)),
    jumper('from any time, one currency', pages, () => reader.page(`?currency=DIEM&startTimestamp=${somewhere()}`)),
    jumper('from any time, 10 per page', pages, () => reader.page(`?pageSize=10&startTimestamp=${somewhere()}`)),
    jumper('from any time, CSV', pages, () =>
      reader.get(`/billing/usage-history?startTimestamp=${somewhere()}`, 'text/csv'),
    ),
    jumper('list of keys', pages, () => reader.get('/api_keys')),
  ];
}

/** Analytics are cached for 10 minutes, so every request uses other days. */
function analyst(reader: Reader, days: number): BenchSubject {
  let offset = 0;
  const dayOf = (ago: number) => new Date(Date.now() - ago * oneDayMs).toISOString().slice(0, 10);
  const run = async () => {
    offset += 1;
    const range = `startDate=${dayOf(offset + days - 10)}&endDate=${dayOf(offset)}`;
    const { ms } = await reader.get(`/billing/usage-analytics?${range}`);
    return { medianMs: ms, maxMs: ms };
  };
  return { name: `analytics of ${days - 9} days, not cached`, run };
}

async function main(): Promise<void> {
  const { positions, rounds, pages } = options;
  const startedAt = new Date().toISOString();
  const onProgress = (line: string) => void process.stderr.write(`${line}\n`);
  const server = options.postgres === null ? await startPostgres({ fsync: 'on' }) : null;
  const url = options.postgres ?? server?.url ?? '';
  const prisma = new PrismaService({ url, poolSize: 2 });
  let api: ApiProcess | null = null;
  try {
    await migrate({ url });
    onProgress(`writing ${positions} positions`);
    const { adminKey, days } = await fillUsage(prisma, positions);
    api = await ApiProcess.start(url);
    const reader = new Reader(api.baseUrl, adminKey);
    await reader.walk('', 20);
    onProgress('reading every page once');
    const all = await reader.walk(`?pageSize=${pageSize}`, Infinity);
    const read = all.reduce((sum, { rows }) => sum + rows, 0);
    if (read !== Math.ceil(positions / 2) * 2) throw new Error(`${read} positions were read of ${positions}`);
    const deepCursor = all[Math.max(0, all.length - pages - 2)]?.nextCursor ?? '';
    const kinds = subjects(reader, pages, days, deepCursor);
    const results = [
      ...(await runInterleaved(kinds, { rounds, warmups: 1, onProgress })),
      { name: `every page of ${pageSize}, once`, rounds: 1, figures: spread(figuresOf(all.map(({ ms }) => ms))) },
      ...(await runInterleaved([analyst(reader, days)], { rounds, warmups: 0, onProgress })),
    ];
    const slowest = Math.max(...['first pages', 'last pages'].map((name) => medianOf(results, name, 'medianMs')));
    const ratios = [{ name: 'aim of 100 ms over the slower median', value: pageTargetMs / slowest, aim: 1 }];
    const settings = { positions, rounds, pages };
    await publish(
      { bench: 'usage history', startedAt, machine: machineFacts(), settings, results, ratios },
      options.json,
    );
  } finally {
    await api?.close();
    await prisma.$disconnect();
    await server?.close();
  }
}

function spread(figures: Figures): Record<string, { median: number; min: number; max: number }> {
  return Object.fromEntries(
    Object.entries(figures).map(([name, value]) => [name, { median: value, min: value, max: value }]),
  );
}

await main();
