import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import pg from 'pg';
import { createLedger, isConsistent } from '#billing';
import { migrate } from '#platform/migrations';
import { runOnServer, withDatabase } from '#test/postgres-server';
import { Choices } from './choices.js';
import type { PlantedBug } from './planted-bugs.js';
import { SimDatabase } from './sim-database.js';
import { Scenario, type ScenarioOptions, type ScenarioResult } from './scenario.js';
import { simulationSchema } from './scenario-setup.js';

/** Number of scenarios between two verifications of the whole ledger, and between two fresh databases. */
const scenariosPerVerification = 50;
const scenariosPerDatabase = 1_000;

/** Unix sockets are faster than TCP. */
const socketFolder = tmpdir();

/**
 * Settings for a disposable server: no durability, and plans are made once. They are made on empty tables and must stay
 * suitable.
 */
export const simulationSettings = {
  unix_socket_directories: socketFolder,
  synchronous_commit: 'off',
  full_page_writes: 'off',
  autovacuum: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  jit: 'off',
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  shared_buffers: '256MB',
  deadlock_timeout: '50ms',
  track_activities: 'off',
  track_counts: 'off',
  update_process_title: 'off',
  wal_writer_delay: '10s',
  bgwriter_lru_maxpages: '0',
  checkpoint_timeout: '1d',
  max_wal_size: '8GB',
};

export interface Failure {
  seed: number;
  problems: string[];
  trace: string[];
  choices: number[];
}

/** Builds a scenario of one kind. */
export type ScenarioKind = (options: ScenarioOptions) => { run(): Promise<ScenarioResult> };

const jobScenario: ScenarioKind = (options) => new Scenario(options);

/** A server with the project's tables in a template, from which each lane of a simulation copies its own. */
export class SimulationServer {
  private constructor(
    /** Superuser URL. */
    readonly url: string,
    readonly template: string,
    private readonly plant: PlantedBug | null = null,
  ) {}

  static async prepare(url: string): Promise<SimulationServer> {
    const template = newName('sim');
    await runOnServer(url, `CREATE DATABASE ${template}`);
    await migrate({ url: withDatabase(url, template) });
    await runOnServer(withDatabase(url, template), simulationSchema(scenariosPerDatabase));
    return new SimulationServer(url, template);
  }

  /** A server that another process has prepared. */
  static prepared({ url, template }: { url: string; template: string }): SimulationServer {
    return new SimulationServer(url, template);
  }

  /** The same with a planted bug. Rejects if the bug no longer fits the code. */
  async planted(plant: PlantedBug): Promise<SimulationServer> {
    const template = newName(this.template);
    await runOnServer(this.url, `CREATE DATABASE ${template} TEMPLATE ${this.template}`);
    await plantBug(withDatabase(this.url, template), plant);
    return new SimulationServer(this.url, template, plant);
  }

  async openLane(kind: ScenarioKind = jobScenario): Promise<SimulationLane> {
    return new SimulationLane(this.plant, kind, async () => {
      const name = newName(this.template);
      await runOnServer(this.url, `CREATE DATABASE ${name} TEMPLATE ${this.template}`);
      const { port, username: user } = new URL(this.url);
      const connection = { host: socketFolder, port: Number(port), user, database: name };
      const database = await SimDatabase.connect(connection, this.plant?.rewrite);
      return { database, drop: () => runOnServer(this.url, `DROP DATABASE ${name} WITH (FORCE)`) };
    });
  }
}

interface LaneDatabase {
  database: SimDatabase;
  drop(): Promise<void>;
}

/** Runs scenarios one after another on its own database. */
export class SimulationLane {
  steps = 0;
  /** Of the last scenario: equal choices mean the same interleaving. */
  lastInterleaving = 0;
  private current: LaneDatabase | null = null;
  private stories = 0;
  private unverified: number[] = [];

  constructor(
    private readonly plant: PlantedBug | null,
    private readonly kind: ScenarioKind,
    private readonly openDatabase: () => Promise<LaneDatabase>,
  ) {}

  /** Failure of this scenario, or of a recent one that only the ledger verification has revealed. */
  async run(seed: number): Promise<Failure | null> {
    const result = await this.tell(Choices.seeded(seed));
    this.steps += result.steps;
    this.lastInterleaving = hashOf(result.choices);
    if (result.problems.length > 0) return await this.failed(seed, result);
    this.unverified.push(seed);
    if (this.unverified.length < scenariosPerVerification) return null;
    return await this.verifyPending();
  }

  /** Verifies remaining scenarios; resolves to the failure found. */
  async verifyPending(): Promise<Failure | null> {
    const seeds = this.unverified.splice(0);
    if (seeds.length === 0 || (await this.verification()).length === 0) return null;
    await this.renew();
    for (const seed of seeds) {
      const failure = await this.replay(Choices.seeded(seed), seed);
      if (failure !== null) return failure;
    }
    throw new Error(
      `the ledger is broken after the seeds ${seeds[0]} to ${seeds.at(-1)}, but after none of them alone`,
    );
  }

  /** One scenario on a consistent database, followed by ledger verification. */
  async replay(choices: Choices, seed: number): Promise<Failure | null> {
    const result = await this.tell(choices);
    if (result.problems.length === 0) result.problems.push(...(await this.verification()));
    return result.problems.length === 0 ? null : await this.failed(seed, result);
  }

  async close(): Promise<void> {
    await this.renew();
  }

  private async failed(seed: number, result: ScenarioResult): Promise<Failure> {
    await this.renew();
    return { seed, ...result };
  }

  /** One scenario without ledger verification. */
  async tell(choices: Choices): Promise<ScenarioResult> {
    if (this.stories >= scenariosPerDatabase) {
      if ((await this.verification()).length > 0) throw new Error('the ledger is broken, and no scenario has shown it');
      await this.renew();
    }
    this.current ??= await this.openDatabase();
    this.stories += 1;
    const { database } = this.current;
    return await this.kind({ database, choices, scenario: this.stories, plant: this.plant }).run();
  }

  /** Result of `ledger verify` as text. */
  private async verification(): Promise<string[]> {
    if (this.current === null) return [];
    const report = await createLedger(this.current.database.prismaForAll).verify();
    if (isConsistent(report)) return [];
    const broken = Object.entries(report.breaks).filter(([, count]) => BigInt(count) !== 0n);
    return broken.map(([name, count]) => `ledger verify: ${name} = ${String(count)}`);
  }

  private async renew(): Promise<void> {
    const { current } = this;
    this.current = null;
    this.stories = 0;
    this.unverified = [];
    if (current === null) return;
    await current.database.close();
    await current.drop();
  }
}

/** 53 bits: two of a million lists collide with a probability of about 1 in 20,000. */
function hashOf(choices: readonly number[]): number {
  let [high, low] = [0x9e3779b9, 0x85ebca6b];
  for (const choice of choices) {
    high = Math.imul(high ^ choice, 0x5bd1e995) ^ (high >>> 15);
    low = Math.imul(low ^ (choice + 1), 0x1b873593) ^ (low >>> 13);
  }
  return (high >>> 11) * 2 ** 32 + (low >>> 0);
}

function newName(prefix: string): string {
  return `${prefix}_${randomBytes(4).toString('hex')}`;
}

async function plantBug(url: string, { functions = [], schema = [] }: PlantedBug): Promise<void> {
  for (const statement of schema) await runOnServer(url, statement);
  for (const { name, find, replace } of functions) {
    const client = new pg.Client(url);
    await client.connect();
    try {
      const { rows } = await client.query<{ text: string }>(
        `SELECT pg_get_functiondef(oid) AS text FROM pg_proc WHERE proname = $1`,
        [name],
      );
      const text = rows[0]?.text ?? '';
      if (!text.includes(find)) throw new Error(`${name} has no "${find}" to plant a bug into`);
      await client.query(text.replace(find, replace));
    } finally {
      await client.end();
    }
  }
}
