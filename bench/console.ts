import { AccountsRepository, AccountsService } from '#accounts';
import { UsageFoldRepository } from '#billing';
import { usageGroupings } from '#billing/usage';
import { ModelRegistryService, ModelRepository, noOnlineModels } from '#model-registry';
import { bundledManifestFolder, loadManifestFolder } from '#model-registry/manifest';
import { migrate } from '#platform/migrations';
import { PrismaService } from '#platform/prisma';
import { startPostgres } from '#test/postgres-server';
import { CpuClock } from './admission/cpu-clock.js';
import { polledPages, SignedInBrowser } from './console/open-pages.js';
import { type BenchSubject, machineFacts, medianOf, publish, type Report, runInterleaved } from './report.js';
import { benchOptions, jsonOption, roundsOption } from './settings.js';
import { ApiProcess } from './usage/api-process.js';
import { fillUsage } from './usage/fill-usage.js';

const parts = ['usage', 'pages'];

const options = benchOptions(
  `npm run bench -- console [options]

Measures the load of the console on an api: sums of usage over a year in every grouping and filter, each of other days,
and the processor time of the api while an operator keeps each page open, beside that of the same api without pages. Tabs
of one browser share what one of them loads, so ten tabs are one subject and ten browsers another one.`,
  {
    requests: { value: 'N', about: 'requests of the account in the year', default: 1_000_000 },
    part: { value: 'PART', about: `what is measured: ${parts.join(', ')}`, isRepeated: true, default: parts },
    browsers: {
      value: 'N',
      about: 'browsers with the page open, each with a session of its own, 20 at most',
      default: 10,
    },
    page: { value: 'PAGE', about: `a page to open: ${polledPages.join(', ')}`, isRepeated: true, default: polledPages },
    seconds: { value: 'N', about: 'seconds of open pages per round', default: 30 },
    rounds: roundsOption,
    json: jsonOption,
  },
);

/** Targets: a year in 200 ms, and 1 % of a processor for a page in ten tabs, of one browser or of ten. */
const aims = { yearMs: 200, processorShare: 0.01 };
const yearDays = 365;
const oneDayMs = 86_400_000;

async function fold(prisma: PrismaService): Promise<void> {
  const repository = new UsageFoldRepository(prisma);
  while (await repository.fold({ lagMs: 600_000, spanMs: 6 * 3_600_000 }));
}

class Reader {
  private count = 0;

  constructor(
    private readonly origin: string,
    private readonly key: string,
  ) {}

  /** A year of usage that no one has asked for yet: its borders move by a day each time. */
  async year(query: Record<string, string>): Promise<number> {
    this.count += 1;
    const dayOf = (ago: number) => new Date(Date.now() - ago * oneDayMs).toISOString().slice(0, 10);
    const [from, to] = [dayOf(yearDays + (this.count % 30)), dayOf(this.count % 30)];
    return await this.timed(`usage?${new URLSearchParams({ from, to, tz: 'Europe/Berlin', ...query })}`);
  }

  private async timed(path: string): Promise<number> {
    const startedMs = performance.now();
    const response = await fetch(`${this.origin}/api/admin/v1/${path}`, {
      headers: { authorization: `Bearer ${this.key}` },
    });
    const body = await response.text();
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${body.slice(0, 500)}`);
    return performance.now() - startedMs;
  }
}

interface YearReport {
  name: string;
  query: Record<string, string>;
}

/** A year in every grouping and filter, of the account and of the installation. */
async function yearReports(prisma: PrismaService, adminKey: string): Promise<YearReport[]> {
  const { accountId } = await new AccountsService(new AccountsRepository(prisma)).authenticate(adminKey);
  const used = await prisma.usageRequests.findFirstOrThrow({ where: { accountId }, orderBy: { id: 'asc' } });
  const [key, model] = [used.apiKeyId, used.modelId];
  const filters = { all: {}, 'one key': { key }, 'one model': { model }, 'one key and model': { key, model } };
  return ['account', 'installation'].flatMap((scope) =>
    usageGroupings.flatMap((groupBy) =>
      Object.entries(filters).map(([filter, query]) => ({
        name: `a year by ${groupBy}, ${filter}, of the ${scope}`,
        query: { scope, groupBy, ...query },
      })),
    ),
  );
}

function yearOf(reader: Reader, { name, query }: YearReport): BenchSubject {
  const run = async () => ({ yearMs: await reader.year(query) });
  return { name, run };
}

interface Openness {
  page: string;
  browsers: number;
}

/** No page is open in 0 browsers. */
function openPages(signedIn: readonly SignedInBrowser[], { page, browsers }: Openness, pid: number): BenchSubject {
  const run = async () => {
    const clock = new CpuClock({ api: pid });
    const startedMs = performance.now();
    const forMs = options.seconds * 1_000;
    const open = signedIn.slice(0, browsers);
    const kept = open.map((browser, index) => browser.keepOpen({ page, startsAt: index / browsers, forMs }));
    await Promise.all([new Promise((resolve) => setTimeout(resolve, forMs)), ...kept]);
    const elapsedMs = performance.now() - startedMs;
    return { processorShare: (clock.elapsedMs().api ?? Number.NaN) / elapsedMs };
  };
  return { name: subjectOf({ page, browsers }), run };
}

function subjectOf({ page, browsers }: Openness): string {
  return browsers === 0 ? 'no page open' : `${page} in ${browsers === 1 ? 'ten tabs' : `${browsers} browsers`}`;
}

/** The account becomes that of an operator whose registry has the bundled models, which the pages list. */
async function makeOperator(prisma: PrismaService, adminKey: string): Promise<void> {
  const accounts = new AccountsService(new AccountsRepository(prisma));
  const { accountId } = await accounts.authenticate(adminKey);
  await accounts.setOperator(accountId, true);
  const manifests = await loadManifestFolder(bundledManifestFolder());
  await new ModelRegistryService(new ModelRepository(prisma), noOnlineModels).upsert(manifests);
}

function refuseUnknown(option: string, given: readonly string[], known: readonly string[]): void {
  const unknown = given.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`${option} ${unknown} is none of ${known.join(', ')}.`);
}

type Measured = Pick<Report, 'results' | 'ratios'>;
type OnProgress = (line: string) => void;

const nothing: Measured = { results: [], ratios: [] };

async function measureUsage(reader: Reader, reports: YearReport[], onProgress: OnProgress): Promise<Measured> {
  const subjects = reports.map((report) => yearOf(reader, report));
  const results = await runInterleaved(subjects, { rounds: options.rounds, warmups: 1, onProgress });
  const slowest = Math.max(...subjects.map(({ name }) => medianOf(results, name, 'yearMs')));
  return { results, ratios: [{ name: 'a year of usage, ms', value: slowest, aim: aims.yearMs, isLimit: true }] };
}

async function measurePages(
  signedIn: readonly SignedInBrowser[],
  pid: number,
  onProgress: OnProgress,
): Promise<Measured> {
  const { page, browsers, rounds } = options;
  const idle = { page: 'overview', browsers: 0 };
  const opened = page.flatMap((name) => [1, browsers].map((count) => ({ page: name, browsers: count })));
  const subjects = [idle, ...opened].map((openness) => openPages(signedIn, openness, pid));
  const results = await runInterleaved(subjects, { rounds, warmups: 0, onProgress });
  const shareOf = (openness: Openness) => medianOf(results, subjectOf(openness), 'processorShare');
  const ratios = opened.map((openness) => ({
    name: `processor share of ${subjectOf(openness)}`,
    value: shareOf(openness) - shareOf(idle),
    aim: aims.processorShare,
    isLimit: true,
  }));
  return { results, ratios };
}

async function main(): Promise<void> {
  const { requests, part, browsers, page, seconds, rounds } = options;
  refuseUnknown('--part', part, parts);
  refuseUnknown('--page', page, polledPages);
  const startedAt = new Date().toISOString();
  const onProgress = (line: string) => void process.stderr.write(`${line}\n`);
  const server = await startPostgres({ fsync: 'on' });
  const prisma = new PrismaService({ url: server.url, poolSize: 2 });
  let api: ApiProcess | null = null;
  try {
    await migrate({ url: server.url });
    onProgress(`writing ${requests} requests`);
    // Two positions each.
    const { adminKey } = await fillUsage(prisma, 2 * requests, { days: yearDays });
    await makeOperator(prisma, adminKey);
    onProgress('folding');
    await fold(prisma);
    api = await ApiProcess.start(server.url);
    const { origin } = new URL(api.baseUrl);
    const { pid } = api;
    const usage = part.includes('usage')
      ? await measureUsage(new Reader(origin, adminKey), await yearReports(prisma, adminKey), onProgress)
      : nothing;
    const signedIn: SignedInBrowser[] = [];
    while (signedIn.length < browsers) signedIn.push(await SignedInBrowser.signIn(origin, adminKey));
    const pages = part.includes('pages') ? await measurePages(signedIn, pid, onProgress) : nothing;
    const results = [...usage.results, ...pages.results];
    const ratios = [...usage.ratios, ...pages.ratios];
    const settings = { requests, part: part.join(', '), browsers, page: page.join(', '), seconds, rounds };
    await publish({ bench: 'console', startedAt, machine: machineFacts(), settings, results, ratios }, options.json);
  } finally {
    await api?.close();
    await prisma.$disconnect();
    await server.close();
  }
}

await main();
