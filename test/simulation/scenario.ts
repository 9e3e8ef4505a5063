import { createLedger, type ModelPrice } from '#billing';
import type { Choices, Weighted } from './choices.js';
import type { PlantedBug } from './planted-bugs.js';
import { SimApi } from './sim-api.js';
import type { SimDatabase } from './sim-database.js';
import { SimOps } from './sim-ops.js';
import { SimPlatform } from './sim-platform.js';
import { quoteNano, type SimRequest } from './sim-request.js';
import { type QueuedJob, SimStore } from './sim-store.js';
import { SimWorker } from './sim-worker.js';
import { auditScenario, readScenarioLedger } from './scenario-ledger.js';
import { chaosOptions } from './scenario-events.js';
import { beginScenario, noonMs, type ScenarioAccounts } from './scenario-setup.js';
import { SimProcess, World } from './world.js';

export interface ScenarioResult {
  problems: string[];
  /** Trace, line by line. */
  trace: string[];
  /** Choices that reproduce this scenario. */
  choices: number[];
  /** Number of scheduler choices. */
  steps: number;
}

export interface ScenarioOptions {
  database: SimDatabase;
  choices: Choices;
  /** Makes the ids of this scenario unique in its database. */
  scenario: number;
  plant: PlantedBug | null;
}

/** Number of requests per scenario: most bugs need one or two. */
const sizes = [
  { weight: 55, requests: 1 },
  { weight: 30, requests: 2 },
  { weight: 10, requests: 3 },
  { weight: 5, requests: 4 },
];

/** How often an operator grants or revokes credit. */
const operations = [
  { weight: 60, count: 0 },
  { weight: 25, count: 1 },
  { weight: 15, count: 2 },
];

interface RequestKind extends Weighted {
  kind: SimRequest['kind'];
}

const kinds: readonly RequestKind[] = [
  { weight: 1, kind: 'stream' },
  { weight: 1, kind: 'whole' },
  { weight: 1, kind: 'async' },
];

/** Async jobs are run again when the queue has lost them. */
const forgettableKinds: readonly RequestKind[] = [
  { weight: 1, kind: 'stream' },
  { weight: 1, kind: 'whole' },
  { weight: 6, kind: 'async' },
];

/** Maximum number of free choices per scenario; then everything is repaired and must finish. */
const chaosSteps = 90;

/**
 * Pauses at the end: first for sweeps to confirm what they have seen, then until deadlines and grace periods are over.
 */
const pausesMs = [4_000, 4_000, 4_000, 4_000, 4_000, ...Array.from({ length: 10 }, () => 12_000)];

const price: ModelPrice = {
  id: 1n,
  modelId: 'sim-model',
  pricing: { input: { usd: 1, diem: 1 }, output: { usd: 2, diem: 2 } },
};

/** Half a minute before the day of `noonMs` ends. */
const eveningMs = Date.UTC(2026, 0, 15, 23, 59, 30);

/** One interleaving of all possible events for a few requests, from the first to the last row. */
export class Scenario {
  readonly platform: SimPlatform;
  readonly world: World;
  readonly choices: Choices;
  readonly requests: SimRequest[] = [];
  /** The queue of this scenario loses its data and later finds old data again. */
  readonly isForgetful: boolean;
  requestsLeft: number;
  operationsLeft: number;
  private accounts: ScenarioAccounts = { accountIds: [], keyIds: [] };
  /** One request has one account; several may share one or not. */
  private readonly accountCount: number;
  private readonly operator: SimProcess;
  private generations = 0;

  constructor(private readonly options: ScenarioOptions) {
    const { database, choices, plant } = options;
    this.choices = choices;
    const startMs = choices.chance(200) ? eveningMs : noonMs;
    this.world = new World(choices, startMs, database.quiesce);
    this.platform = new SimPlatform(this.world, new SimStore(), database, plant);
    this.operator = new SimProcess('operator', 'operator', startMs);
    this.isForgetful = choices.chance(200);
    this.requestsLeft = choices.pick(sizes).requests;
    this.accountCount = this.requestsLeft > 1 && choices.chance(400) ? 2 : 1;
    this.operationsLeft = choices.pick(operations).count;
  }

  async run(): Promise<ScenarioResult> {
    await this.begin();
    let steps = 0;
    for (; steps < chaosSteps && !this.choices.areOver; steps += 1) {
      const options = chaosOptions(this);
      if (options.length === 0) break;
      await this.choices.pick(options).run();
      await this.world.settle();
    }
    await this.end();
    return { problems: this.world.problems, trace: this.world.trace, choices: this.choices.taken, steps };
  }

  /** No event is possible any more. */
  get isQuiet(): boolean {
    const { store, apis } = this.platform;
    const isAsked = this.requestsLeft === 0 && this.operationsLeft === 0;
    const isDone = this.requests.every(
      ({ isClosed, admission }) => isClosed || (admission ?? 'admitted') !== 'admitted',
    );
    const isEmpty = store.jobs.size === 0 && store.results.length === 0;
    return isAsked && isDone && isEmpty && this.world.isIdle && apis.every(({ openStreams }) => openStreams.size === 0);
  }

  addApi(): SimApi {
    const api = new SimApi(this.platform, `api-${this.nextGeneration()}`);
    this.platform.apis.push(api);
    return api;
  }

  addWorker(): SimWorker {
    const worker = new SimWorker(this.platform, `worker-${this.nextGeneration()}`);
    // Existing processes notify a new one at once.
    for (const process of this.platform.processes) if (process.runs) process.lastHeartbeatAtMs = this.world.nowMs();
    this.platform.workers.push(worker);
    return worker;
  }

  addOps(): SimOps {
    const ops = new SimOps(this.platform, `ops-${this.nextGeneration()}`);
    this.platform.ops.push(ops);
    return ops;
  }

  /** Some concurrent requests to one replica. */
  ask(api: SimApi, count: number): void {
    for (let index = 0; index < count && this.requestsLeft > 0; index += 1) {
      this.requestsLeft -= 1;
      const request = this.newRequest();
      this.requests.push(request);
      this.platform.requests.set(request.id, request);
      this.world.note(`${api.process.name}: received ${request.id} (${request.kind}, ${request.tokens} tokens)`);
      api.process.onDeath(() => void (request.hasLostApi = true));
      void api.serve(request, price, 2);
    }
  }

  /** The operator grants credit, possibly twice with the same reference, or revokes it. */
  operate(): void {
    this.operationsLeft -= 1;
    const { database } = this.options;
    const ledger = createLedger(database.prismaFor(this.world, this.operator));
    const place = this.choices.below(this.accountCount);
    const accountId = this.accounts.accountIds[place] ?? '';
    const amountNano = quoteNano(1);
    const reference = `${accountId}/${this.choices.below(2)}`;
    const post = (kind: 'grant' | 'revoke') =>
      ledger.credit(kind, { accountId, currency: 'USD', amountNano, reference });
    const kind = this.choices.chance(300) ? 'revoke' : 'grant';
    this.world.note(`operator: ${kind} by ${reference}`);
    // Credit beyond the balance is not revoked; a known reference posts nothing.
    void post(kind).catch(() => undefined);
    if (this.choices.chance(300)) void post(kind).catch(() => undefined);
  }

  private nextGeneration(): number {
    this.generations += 1;
    return this.generations;
  }

  private newRequest(): SimRequest {
    const place = this.choices.below(this.accountCount);
    return {
      // Rows are locked in id order, which differs from arrival order.
      id: `S${this.options.scenario}-${this.choices.below(10)}${this.requests.length}`,
      accountId: this.accounts.accountIds[place] ?? '',
      apiKeyId: this.accounts.keyIds[place] ?? '',
      kind: this.choices.pick(this.isForgetful ? forgettableKinds : kinds).kind,
      // The quote covers 2 tokens: an engine that generates far more must not cost more than was reserved.
      tokens: [1, 2, 0, 9][this.choices.below(4)] ?? 1,
      admission: null,
      answer: null,
      quotedNano: 0n,
      reports: [],
      hasLeft: false,
      hasLostApi: false,
      isClosed: false,
    };
  }

  private async begin(): Promise<void> {
    const { database, scenario } = this.options;
    const { choices, world } = this;
    const covers = () => quoteNano(2) * BigInt([4, 2, 8, 1][choices.below(4)] ?? 1);
    const usdNano = Array.from({ length: this.accountCount }, covers);
    const stakeNano = choices.chance(250) ? 100_000_000n : null;
    const keyLimitNano = choices.chance(300) ? quoteNano(2) * BigInt(1 + choices.below(2)) : null;
    const nowIso = new Date(world.nowMs()).toISOString();
    const means = { usdNano, stakeNano, keyLimitNano };
    this.accounts = await beginScenario(database, { ...means, scenario, nowIso });
    world.note(
      `balances ${usdNano.join(', ')}; stake ${stakeNano ?? 0n}; limit of the first key ${keyLimitNano ?? 'none'}`,
    );
    for (let replica = 0; replica < 2; replica += 1) {
      this.addApi();
      this.addWorker();
      this.addOps();
    }
  }

  /** No more faults: all requests must finish, and the ledger must be consistent. */
  private async end(): Promise<void> {
    const { world, platform } = this;
    world.note('-- no more faults from here on');
    for (const process of platform.processes) process.isFrozen = false;
    if (!platform.apis.some(({ process }) => process.runs)) this.addApi();
    if (!platform.workers.some(({ process, isStopping }) => process.runs && !isStopping)) this.addWorker();
    if (!platform.ops.some(({ process }) => process.runs)) this.addOps();
    await this.finishWork();
    for (const pauseMs of pausesMs) {
      if (!(await this.hasOpenRows())) break;
      platform.passTime(pauseMs);
      await world.settle();
      for (const place of [0, 1, 2]) await this.sweep(place);
      await this.finishWork();
    }
    if (!world.isIdle) world.problem('something still waits at the end');
    const { accountIds } = this.accounts;
    const facts = { requests: this.requests, wasFlushed: platform.store.flushes > 0 };
    for (const problem of auditScenario(
      await readScenarioLedger(this.options.database, accountIds, this.requests),
      facts,
    ))
      world.problem(problem);
  }

  private async finishWork(): Promise<void> {
    const { world, platform } = this;
    for (let more = true; more;) {
      more = false;
      for (let step = world.ready[0]; step !== undefined; step = world.ready[0]) {
        await world.perform(step.id);
        more = true;
      }
      if (platform.store.hasStalled(world.nowMs())) platform.store.cancelStalled(world.nowMs());
      const worker = platform.workers.find(({ process, isBusy }) => process.runs && !isBusy);
      const [job] = platform.store.waiting;
      const ops = platform.ops.find(({ process }) => process.runs);
      if (job !== undefined) this.deliverLate(job.envelope);
      const results = platform.store.deliverable(world.nowMs());
      if (job !== undefined && worker !== undefined) void worker.take(job, 0);
      if (ops !== undefined && results.length > 0) void ops.settle(results);
      if (job !== undefined || results.length > 0) more = true;
      await world.settle();
    }
  }

  /** A result of an abandoned attempt may be delivered once more, just when the next attempt begins. */
  private deliverLate({ requestId, attempt }: QueuedJob['envelope']): void {
    const { world, platform } = this;
    const given = platform.requests.get(requestId)?.reports.find((result) => result.attempt < attempt);
    if (given === undefined || !this.choices.chance(500)) return;
    world.note(`the result of ${requestId}/${given.attempt} is delivered again`);
    platform.store.report(given, world.nowMs());
  }

  private async sweep(place: number): Promise<void> {
    const ops = this.platform.ops.find(({ maySweep }) => maySweep);
    if (ops === undefined) return;
    void ops.sweep(place);
    await this.world.settle();
    await this.finishWork();
  }

  private async hasOpenRows(): Promise<boolean> {
    const { results } = this.platform.store;
    // Rows that were closed or never existed need no check.
    if (results.length === 0 && this.requests.every((each) => each.isClosed || each.admission === 'refused'))
      return false;
    const open = await this.options.database.look(`SELECT 1 FROM jobs WHERE state IN ('queued', 'running') LIMIT 1`);
    return open.length > 0 || this.platform.store.results.length > 0;
  }
}
