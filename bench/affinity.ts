import { type PlatformProcess, startPlatform } from '#test/platform';
import { redisAvailable } from '#test/redis';
import { Conversations, type ConversationPlan } from './affinity/conversations.js';
import { installAll } from './models.js';
import { type BenchSubject, type BenchSubjectResult, medianOf, type Ratio, runBench } from './report.js';
import { benchOptions, homeOption, jsonOption, roundsOption } from './settings.js';

const options = benchOptions(
  `npm run bench -- affinity [options]

Conversations of several turns over several workers, with affinity (chats prefer the worker that holds their beginning)
and without, interleaved: replicas of the api in front of the same workers, the first with SLUICE_AFFINITY_MS=0.`,
  {
    model: { value: 'ID', about: 'what writes', default: 'minimind2-small' },
    home: homeOption,
    workers: { value: 'N', about: 'workers of all replicas', default: 2 },
    replicas: { value: 'N', about: 'API replicas with affinity', default: 1 },
    rounds: { ...roundsOption, default: 3 },
    conversations: { value: 'N', about: 'conversations per round', default: 10 },
    turns: { value: 'N', about: 'turns per conversation', default: 3 },
    instructions: { value: 'N', about: 'characters of the system prompt of each conversation', default: 1_000 },
    tokens: { value: 'N', about: 'output tokens per request', default: 6 },
    lanes: { value: 'N', about: 'concurrent requests', default: 8 },
    delay: { value: 'MS', about: 'SLUICE_AFFINITY_MS', default: 400 },
    json: jsonOption,
  },
);

/** Minimum values that justify affinity. */
const aims = { cachedShare: 1.1, firstToken: 0.9, turnsPerSecond: 1 };

const { model: modelId, home, workers, rounds, conversations, turns, instructions, tokens, lanes } = options;
const plan: ConversationPlan = { conversations, turns, instructions, tokens, lanes };

const manifests = (await installAll(home, [modelId])).map(({ manifest }) => manifest);
const affine = Array.from({ length: options.replicas }, (_, index): PlatformProcess => `api-${index + 2}`);
const platform = await startPlatform({
  engine: 'text',
  ownPostgres: true,
  transport: redisAvailable ? 'redis' : 'postgres',
  home,
  manifests,
  replicas: { api: 1 + affine.length, worker: workers },
  env: { SLUICE_THREADS: '1', SLUICE_PROVIDERS: 'cpu', SLUICE_RATE_LIMITS: 'false' },
  processEnv: {
    api: { SLUICE_AFFINITY_MS: '0' },
    ...Object.fromEntries(affine.map((name) => [name, { SLUICE_AFFINITY_MS: String(options.delay) }])),
  },
});
try {
  await untilAllWork();
  const without = subject('shared queue', platform.origins.slice(0, 1), 1);
  const sticky = subject('affinity', platform.origins.slice(1), 2);
  const ratioOf = (
    results: readonly BenchSubjectResult[],
    figure: string,
    aim: number | null,
    isLimit = false,
  ): Ratio => ({
    name: `${sticky.name} / ${without.name}, ${figure}`,
    value: medianOf(results, sticky.name, figure) / medianOf(results, without.name, figure),
    aim,
    isLimit,
  });
  const ratiosOf = (results: readonly BenchSubjectResult[]): Ratio[] => [
    ratioOf(results, 'laterCachedShare', aims.cachedShare),
    ratioOf(results, 'laterFirstTokenMeanMs', aims.firstToken, true),
    ratioOf(results, 'laterFirstTokenP95Ms', null),
    ratioOf(results, 'turnsPerSecond', aims.turnsPerSecond),
  ];
  const queue = redisAvailable ? 'Redis' : 'PostgreSQL';
  const settings = {
    model: modelId,
    workers,
    replicas: affine.length,
    rounds,
    ...plan,
    stickyMs: options.delay,
    queue,
  };
  await runBench({
    name: 'affinity',
    settings,
    subjects: [without, sticky],
    rounds,
    ratiosOf,
    json: options.json,
  });
  process.stdout.write(`\n${await reportSticky()}\n`);
} finally {
  await platform.stop();
}
process.exit(0);

function subject(name: string, origins: readonly string[], offset: number): BenchSubject {
  const conversations = new Conversations({ origins, key: platform.inferenceKey, modelId }, plan);
  return {
    name,
    run: (round) => conversations.run((round + 10) * 2 + offset),
    close: () => conversations.close(),
  };
}

function workerNames(): PlatformProcess[] {
  return Array.from({ length: workers }, (_, index) => (index === 0 ? 'worker' : (`worker-${index + 1}` as const)));
}

async function metricsOf(url: string): Promise<string> {
  return await (await fetch(`${url}/metrics`)).text();
}

/** A model is online with its first worker; the bench needs all of them. */
async function untilAllWork(): Promise<void> {
  const ready = new RegExp(`^sluice_model_workers\\{[^}]*state="ready"[^}]*\\} ${workers}$`, 'm');
  for (const origin of platform.origins) {
    while (!ready.test(await metricsOf(origin))) await new Promise((resolve) => setTimeout(resolve, 250));
  }
  // The next heartbeat of each worker offers to claim sticky jobs.
  await new Promise((resolve) => setTimeout(resolve, 2_500));
}

/** What became of the sticky jobs, as the workers report it. */
async function reportSticky(): Promise<string> {
  const ends = new Map<string, number>();
  for (const name of workerNames()) {
    const found = (await metricsOf(platform.operationsUrl(name))).matchAll(
      /^sluice_affinity_jobs_total\{[^}]*end="([a-z-]+)"[^}]*\} (\d+)$/gm,
    );
    for (const [, end = '', count] of found) ends.set(end, (ends.get(end) ?? 0) + Number(count));
  }
  return `sticky jobs: ${[...ends].map(([end, count]) => `${count} ${end}`).join(', ') || 'none'}`;
}
