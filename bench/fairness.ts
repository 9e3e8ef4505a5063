import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { AccountsRepository, AccountsService } from '#accounts';
import { createLedger } from '#billing';
import { nanosPerUsd } from '#common';
import { PrismaService } from '#platform/prisma';
import { startPlatform } from '#test/platform';
import { redisAvailable } from '#test/redis';
import { unboundLimits } from '#test/unbound-limits';
import { chatBody, type ChatPlan } from './fairness/chat-plan.js';
import type { FloodArgument, FloodState } from './fairness/flood.js';
import { type BenchSubject, medianOf, percentile, runBench } from './report.js';
import { benchOptions, jsonOption, roundsOption } from './settings.js';

const options = benchOptions(
  `npm run bench -- fairness [options]

One account keeps many chats of a model open while another one sends one at a time: the time to its first token, alone and
beside the flood, with turns for accounts and in the order of arrival (SLUICE_FAIR_QUEUE=false), and the chats per second
of both together. One worker with the deterministic test engine; an API replica for each order.`,
  {
    rounds: { ...roundsOption, default: 3 },
    chats: { value: 'N', about: 'open chats of the first account', default: 300 },
    seconds: { value: 'N', about: 'measured seconds per run', default: 10 },
    slots: { value: 'N', about: 'chats that the model runs at once', default: 32 },
    tokens: { value: 'N', about: 'mean output tokens of the chats of the first account', default: 16 },
    ownTokens: { value: 'N', about: 'of those of the other one', default: 4 },
    delay: { value: 'MS', about: 'pause of the test engine between two tokens', default: 100 },
    store: { value: 'STORE', about: 'redis or postgres; default: redis if there is one' },
    json: jsonOption,
  },
);

/** Maximum p95 of the first token beside the flood over alone; minimum chats per second over those in the order of arrival. */
const aims = { firstToken: 3, throughput: 0.97 };

const plan: ChatPlan = { model: 'tiny-llama', tokens: options.tokens, delayMs: options.delay };
const transport = (options.store ?? (redisAvailable ? 'redis' : 'postgres')) === 'redis' ? 'redis' : 'postgres';
const platform = await startPlatform({
  ownPostgres: true,
  transport,
  replicas: { api: 2 },
  env: { SLUICE_SLOTS: String(options.slots) },
  processEnv: { 'api-2': { SLUICE_FAIR_QUEUE: 'false' } },
});
const [fair = '', byArrival = ''] = platform.origins;

async function newFloodKey(): Promise<string> {
  const prisma = new PrismaService({ url: platform.databaseUrl, poolSize: 1 });
  try {
    const accounts = new AccountsService(new AccountsRepository(prisma));
    const { id: accountId } = await accounts.createAccount('flood');
    await unboundLimits(prisma, accountId);
    await createLedger(prisma).credit('grant', { accountId, currency: 'USD', amountNano: 1_000n * nanosPerUsd });
    return (await accounts.createKey({ accountId, kind: 'INFERENCE' })).key;
  } finally {
    await prisma.$disconnect();
  }
}

/** Resolves when the chats are open and the first of them have ended, so that the model is busy all the time. */
async function startFlood(origin: string): Promise<ChildProcess> {
  const argument: FloodArgument = { origin, key: floodKey, chats: options.chats, plan };
  const flood = fork(new URL('fairness/flood.js', import.meta.url), [JSON.stringify(argument)]);
  for (;;) {
    const { open, ended } = await stateOf(flood);
    if (open === options.chats && ended >= options.slots) return flood;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function stateOf(flood: ChildProcess): Promise<FloodState> {
  if (flood.exitCode !== null) throw new Error('The flood ended early.');
  const answered = once(flood, 'message');
  flood.send('state');
  const [state] = (await answered) as [FloodState];
  return { ...state };
}

async function endFlood(flood: ChildProcess): Promise<void> {
  const ended = once(flood, 'exit');
  flood.disconnect();
  await ended;
  // Its chats are cancelled; the next run starts with an empty model.
  await platform.closedJobs(60_000);
}

/** Sends one chat and reads it to its end; resolves to the ms until its first token. */
async function ask(origin: string): Promise<number> {
  const startedAt = performance.now();
  const response = await fetch(`${origin}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' },
    body: chatBody({ ...plan, tokens: options.ownTokens }),
  });
  let firstMs = Number.NaN;
  const decoder = new TextDecoder();
  for await (const bytes of response.body ?? []) {
    if (Number.isNaN(firstMs) && decoder.decode(bytes, { stream: true }).includes('"content":"')) {
      firstMs = performance.now() - startedAt;
    }
  }
  if (response.status !== 200 || Number.isNaN(firstMs))
    throw new Error(`A chat failed with status ${response.status}.`);
  return firstMs;
}

function subject(name: string, origin: string, isFlooded: boolean): BenchSubject {
  return {
    name,
    run: async () => {
      const flood = isFlooded ? await startFlood(new URL(origin).origin) : null;
      const before = flood === null ? null : await stateOf(flood);
      const startedAt = performance.now();
      const times: number[] = [];
      while (performance.now() - startedAt < options.seconds * 1_000) times.push(await ask(origin));
      const seconds = (performance.now() - startedAt) / 1_000;
      const after = flood === null ? null : await stateOf(flood);
      if (flood !== null) await endFlood(flood);
      return {
        firstTokenP50Ms: percentile(times, 50),
        firstTokenP95Ms: percentile(times, 95),
        ownChats: times.length,
        chatsPerSecond: (times.length + (after?.ended ?? 0) - (before?.ended ?? 0)) / seconds,
        failed: (after?.failed ?? 0) - (before?.failed ?? 0),
      };
    },
  };
}

const floodKey = await newFloodKey();
const names = { quiet: 'alone', fair: 'beside the flood, in turns', byArrival: 'beside the flood, by arrival' };
try {
  await runBench({
    name: 'fairness',
    settings: {
      ...plan,
      ownTokens: options.ownTokens,
      chats: options.chats,
      slots: options.slots,
      seconds: options.seconds,
      queue: transport,
    },
    subjects: [
      subject(names.quiet, `${new URL(fair).origin}/api/v1`, false),
      subject(names.fair, `${new URL(fair).origin}/api/v1`, true),
      subject(names.byArrival, `${new URL(byArrival).origin}/api/v1`, true),
    ],
    rounds: options.rounds,
    json: options.json,
    ratiosOf: (results) => {
      const of = (name: string, figure: string) => medianOf(results, name, figure);
      const quietMs = of(names.quiet, 'firstTokenP95Ms');
      return [
        {
          name: 'first token p95, in turns / alone',
          value: of(names.fair, 'firstTokenP95Ms') / quietMs,
          aim: aims.firstToken,
          isLimit: true,
        },
        {
          name: 'first token p95, by arrival / alone',
          value: of(names.byArrival, 'firstTokenP95Ms') / quietMs,
          aim: null,
        },
        {
          name: 'chats per second, in turns / by arrival',
          value: of(names.fair, 'chatsPerSecond') / of(names.byArrival, 'chatsPerSecond'),
          aim: aims.throughput,
        },
      ];
    },
  });
} finally {
  await platform.stop();
}
