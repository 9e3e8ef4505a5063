import { type PaymentChain, PaymentOffers, TopUpService, TopUpsRepository } from '#payments';
import { PaymentExecutor, TopUpExecutionRepository } from '#payments/execution';
import { testDouble } from '#test/test-double';
import type { Choices, Weighted } from './choices.js';
import type { ScenarioOptions, ScenarioResult } from './scenario.js';
import { beginScenario, noonMs } from './scenario-setup.js';
import { silentLogger } from './silent-logger.js';
import { SimChain } from './sim-chain.js';
import type { TopUpBug } from './top-up-bugs.js';
import { SimProcess, type StepFault, World } from './world.js';

const network = 'eip155:8453';
const payTo = `0x${'b'.repeat(40)}`;
const offers = new PaymentOffers({
  networks: [
    {
      kind: 'evm',
      network,
      asset: `0x${'a'.repeat(40)}`,
      payTo,
      extra: { name: 'x', version: '1' },
      maxTimeoutSeconds: 300,
    },
  ],
  minUsd: 5,
  maxUsd: 10_000,
});
const value = '5000000';
const valueNano = 5_000_000_000n;

const chaosSteps = 70;
const left = AbortSignal.abort();
const never = new AbortController().signal;

/** How long authorizations of a scenario are valid, in ms. */
const validMs = 300_000;

const faults: (Weighted & { fault: StepFault })[] = [
  { weight: 920, fault: 'none' },
  { weight: 40, fault: 'lost-before' },
  { weight: 40, fault: 'lost-after' },
];

interface Replica {
  process: SimProcess;
  executor: PaymentExecutor;
}

interface Option extends Weighted {
  run(): Promise<void> | void;
}

/** One interleaving of top-ups, their execution by several replicas, and a chain, while processes die. */
export class TopUpScenario {
  private readonly world: World;
  private readonly choices: Choices;
  private readonly chain: SimChain;
  private readonly apis: SimProcess[] = [];
  private readonly ops: Replica[] = [];
  private readonly nonces: string[] = [];
  /** Bodies of responses that say that a payment is credited. */
  private readonly answers = new Map<string, Set<string>>();
  private accountId = '';
  private generations = 0;

  constructor(private readonly options: ScenarioOptions) {
    this.choices = options.choices;
    this.world = new World(this.choices, noonMs, options.database.quiesce);
    this.chain = new SimChain(this.world, this.choices, noonMs + validMs);
  }

  async run(): Promise<ScenarioResult> {
    await this.begin();
    let steps = 0;
    for (; steps < chaosSteps && !this.choices.areOver; steps += 1) {
      await this.choices.pick(this.events()).run();
      await this.world.settle();
    }
    await this.end();
    return { problems: this.world.problems, trace: this.world.trace, choices: this.choices.taken, steps };
  }

  private async begin(): Promise<void> {
    const { database, scenario } = this.options;
    const nowIso = new Date(noonMs).toISOString();
    const means = { usdNano: [0n], stakeNano: null, keyLimitNano: null };
    const { accountIds } = await beginScenario(database, { ...means, scenario, nowIso });
    this.accountId = accountIds[0] ?? '';
    const payments = 1 + this.choices.below(2);
    for (let place = 0; place < payments; place += 1) {
      this.nonces.push(`0x${(scenario * 10 + place).toString(16).padStart(64, '0')}`);
    }
    for (let replica = 0; replica < 2; replica += 1) {
      this.apis.push(new SimProcess(`api-${replica}`, 'api', noonMs));
      this.addOps();
    }
  }

  private addOps(): void {
    const { database, plant } = this.options;
    const process = new SimProcess(`ops-${(this.generations += 1)}`, 'ops', this.world.nowMs());
    const topUps = new TopUpExecutionRepository(
      database.prismaFor(this.world, process),
      testDouble({
        accountOf: async () => this.accountId,
      }),
    );
    const own: PaymentChain = this.chain.chainFor(process);
    const chain = (plant as TopUpBug | null)?.chain?.(own, this.chain) ?? own;
    const executor = new PaymentExecutor({
      topUps,
      nodes: new Map([[network, { facilitator: this.chain.facilitatorFor(process), chain }]]),
      logger: silentLogger,
      metrics: { ended: () => undefined, unknown: () => undefined },
      clock: this.world,
    });
    this.ops.push({ process, executor });
  }

  /** The first is the quietest. */
  private events(): Option[] {
    const { world, chain, choices } = this;
    const steps = world.ready.map(({ id }): Option => ({
      weight: 12,
      run: () => world.perform(id, choices.pick(faults).fault),
    }));
    const events: Option[] = [...steps, { weight: 1, run: () => world.passTime(choices.pick(pauses).ms) }];
    for (const api of this.apis) {
      for (const nonce of this.nonces) events.push({ weight: 1.5, run: () => void this.submit(api, nonce) });
    }
    for (const replica of this.ops.filter(({ process }) => process.runs)) {
      events.push({ weight: 4, run: () => this.look(replica) });
      events.push({ weight: 0.4, run: () => this.kill(replica) });
    }
    for (const { process } of this.ops.filter((replica) => !replica.process.isDead)) {
      events.push({ weight: 0.3, run: () => void (process.isFrozen = !process.isFrozen) });
    }
    if (this.ops.every(({ process }) => process.isDead)) events.push({ weight: 6, run: () => this.addOps() });
    if (chain.unmined.length > 0) events.push({ weight: 2, run: () => (world.note('a block'), chain.mine()) });
    if (chain.mined.length > 0)
      events.push({ weight: 0.4, run: () => (world.note('a block is lost'), chain.reorganize()) });
    // Once a request has shown it, anybody may send an authorization.
    for (const nonce of this.answers.keys()) {
      events.push({ weight: 0.3, run: () => (world.note('another sender'), void chain.send(nonce, true)) });
    }
    return events;
  }

  private look({ process, executor }: Replica): void {
    this.world.note(`${process.name}: looks`);
    void executor.begin(never).catch(() => undefined);
  }

  private async kill({ process }: Replica): Promise<void> {
    this.world.note(`${process.name} is killed`);
    await this.world.kill(process);
  }

  /** A client that leaves at once, and may come back. */
  private async submit(api: SimProcess, nonce: string): Promise<void> {
    const topUps = new TopUpsRepository(this.options.database.prismaFor(this.world, api));
    const service = new TopUpService(offers, topUps, silentLogger, { clock: this.world });
    const bodies = this.answers.get(nonce) ?? new Set();
    this.answers.set(nonce, bodies);
    this.world.note(`${api.name}: receives ${nonce.slice(-4)}`);
    try {
      const { status, body } = await service.submit(this.headerOf(nonce), left);
      if (body.includes('"accepts"')) this.world.problem('a payment was answered with a new offer');
      if (status === 200) bodies.add(body.toString());
    } catch {
      // The client repeats its request, or does not.
    }
  }

  private headerOf(nonce: string): string {
    const validBefore = String((noonMs + validMs) / 1_000);
    const authorization = { from: `0x${'c'.repeat(40)}`, to: payTo, value, validAfter: '0', validBefore, nonce };
    const payload = { signature: `0x${'d'.repeat(130)}`, authorization };
    return Buffer.from(JSON.stringify({ x402Version: 2, accepted: offers.accepts[0], payload })).toString('base64');
  }

  /** No more faults: every payment ends, and what the chain shows is credited. */
  private async end(): Promise<void> {
    const { world, chain } = this;
    world.note('-- no more faults from here on');
    for (const { process } of this.ops) process.isFrozen = false;
    if (!this.ops.some(({ process }) => process.runs)) this.addOps();
    if (this.choices.chance(500)) chain.mine();
    for (let minute = 0; minute < 30; minute += 1) {
      world.passTime(minute < 4 ? 20_000 : 60_000);
      const replica = this.ops.find(({ process }) => process.runs);
      if (replica !== undefined) this.look(replica);
      await this.finish();
    }
    await this.audit();
    // Later scenarios in this database have another chain.
    await this.options.database.look('UPDATE top_ups SET next_look_at = NULL WHERE next_look_at IS NOT NULL');
  }

  private async finish(): Promise<void> {
    const { world } = this;
    await world.settle();
    for (let step = world.ready[0]; step !== undefined; step = world.ready[0]) await world.perform(step.id);
  }

  private async audit(): Promise<void> {
    const { world, chain, nonces } = this;
    const open = await this.count(`state IN ('authorized', 'pending')`, nonces);
    if (open > 0) world.problem(`${open} payments have not ended`);
    const [balance] = await this.options.database.look<{ usd: string }>(
      'SELECT usd_nano::text AS usd FROM balances WHERE account_id = $1',
      [this.accountId],
    );
    // A request may have been lost before its row was written.
    const paid = await this.count(
      'true',
      nonces.filter((nonce) => chain.isPaid(nonce)),
    );
    const due = valueNano * BigInt(paid);
    if (BigInt(balance?.usd ?? 0) !== due) world.problem(`the account has ${balance?.usd}, and should have ${due}`);
  }

  /** Payments of these nonces, each once, however many rows it has. */
  private async count(condition: string, nonces: string[]): Promise<number> {
    const [row] = await this.options.database.look<{ count: number }>(
      `SELECT count(DISTINCT payment_key)::int AS count FROM top_ups
        WHERE ${condition} AND payment -> 'payload' -> 'authorization' ->> 'nonce' = ANY ($1::text[])`,
      [nonces],
    );
    return row?.count ?? 0;
  }
}

const pauses = [
  { weight: 6, ms: 1_000 },
  { weight: 3, ms: 15_000 },
  { weight: 1, ms: 95_000 },
];
