import pg from 'pg';
import type { PrismaService, RawQueries } from '#platform/prisma';
import { Prisma } from '#platform/prisma';
import { type RunningStatement, nameOf, SimSession, type Statement } from './sim-session.js';
import type { SimProcess, World } from './world.js';

/** Replaces statements of the production code with planted ones. */
export type Rewrite = (text: string) => string;

/** Maximum number of concurrent statements and transactions. */
const sessionCount = 16;

/**
 * One real database with the sessions of the processes of one scenario. Each statement of the production code is one
 * step of the simulation; visibility, locks and waits are those of the server.
 */
export class SimDatabase {
  private readonly idle: SimSession[] = [];
  private sessions: readonly SimSession[] = [];
  /** Transactions that have ended. */
  private ended = 0;

  private constructor(
    private readonly monitor: pg.Client,
    private readonly rewrite: Rewrite,
  ) {}

  static async connect(connection: pg.ClientConfig, rewrite: Rewrite = (text) => text): Promise<SimDatabase> {
    const monitor = new pg.Client({ ...connection, options: '-c search_path=sim,pg_catalog,public' });
    await monitor.connect();
    const database = new SimDatabase(monitor, rewrite);
    const noteEnd = () => void (database.ended += 1);
    database.sessions = await Promise.all(
      Array.from({ length: sessionCount }, () => SimSession.open(connection, noteEnd)),
    );
    database.idle.push(...database.sessions);
    return database;
  }

  /** Runs outside of the simulation: for setup and final checks. */
  async look<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    return (await this.monitor.query<Row>({ name: nameOf(text), text, values })).rows;
  }

  /** Runs outside of the simulation for statements that read whole tables, with suitable plans. */
  get prismaForAll(): PrismaService {
    const queries = new Queries(async ({ text, values }) => {
      await this.monitor.query(`BEGIN; SET LOCAL enable_seqscan = on; SET LOCAL enable_hashjoin = on`);
      const result = await this.monitor.query({ name: nameOf(text), text, values });
      await this.monitor.query('COMMIT');
      return result;
    });
    return { $queryRaw: queries.$queryRaw.bind(queries) } as unknown as PrismaService;
  }

  async close(): Promise<void> {
    await Promise.all(this.sessions.map((session) => session.close()));
    await this.monitor.end();
  }

  /** Stand-in for Prisma in the repositories of one process. */
  prismaFor(world: World, process: SimProcess): PrismaService {
    const single = new Queries((statement) => this.runAlone(world, process, statement));
    const prepared = <Result>(work: (transaction: RawQueries) => Promise<Result>) =>
      this.transaction(world, process, work);
    const prisma = {
      $queryRaw: single.$queryRaw.bind(single),
      $executeRaw: single.$executeRaw.bind(single),
      $prepared: prepared,
      $transaction: prepared,
    };
    return prisma as unknown as PrismaService;
  }

  /** Resolves when every statement is done or waits for a lock that is not released by itself. */
  readonly quiesce = async (runningStatements: RunningStatement<unknown>[]): Promise<void> => {
    for (;;) {
      const { ended } = this;
      const up = runningStatements.filter(({ hasCompleted }) => !hasCompleted);
      // A statement seen waiting still waits, unless a transaction has ended since.
      const unsure = up.filter(({ waitedAt }) => waitedAt !== ended);
      if (unsure.length === 0) return;
      const landing = Promise.all(unsure.map((flight) => flight.landing));
      if (this.mayWait(up)) await atMostMs(landing, 3);
      else await landing;
      const still = up.filter(({ hasCompleted }) => !hasCompleted);
      if (still.length === 0) return;
      if (this.ended !== ended || unsure.every(({ hasCompleted }) => hasCompleted)) continue;
      const waiting = await this.waitingPids(still.map(({ session }) => session.pid));
      // What ended during the query may have released another lock: only an unchanged state counts.
      if (this.ended !== ended) continue;
      for (const flight of still) if (waiting.has(flight.session.pid)) flight.waitedAt = ended;
    }
  };

  private mayWait(up: RunningStatement<unknown>[]): boolean {
    if (up.length > 1) return true;
    const [only] = up;
    return this.sessions.some((session) => session.isInTransaction && session !== only?.session);
  }

  private async waitingPids(pids: number[]): Promise<Set<number>> {
    const { rows } = await this.monitor.query<{ pid: number }>({
      name: 'waiting',
      text: 'SELECT pid FROM unnest($1::int[]) pid WHERE cardinality(pg_blocking_pids(pid)) > 0',
      values: [pids],
    });
    return new Set(rows.map(({ pid }) => pid));
  }

  private async runAlone(world: World, process: SimProcess, statement: Statement): Promise<pg.QueryResult> {
    let session: SimSession | null = null;
    const refund = async () => {
      if (session !== null) this.idle.push(session);
      session = null;
    };
    try {
      return await world.step<pg.QueryResult>(process, {
        label: summary(statement.text),
        start: () => (session = this.acquire()).run(this.rewritten(statement), iso(world)),
        onLost: refund,
      });
    } catch (error) {
      report(world, error, statement.text);
      throw error;
    } finally {
      // A connection of a dead process is returned when its statement is done.
      if (!process.isDead) await refund();
    }
  }

  /**
   * Like `PrismaService.$prepared`: BEGIN, the work, COMMIT; ROLLBACK when the work rejects or the connection is lost.
   */
  private async transaction<Result>(
    world: World,
    process: SimProcess,
    work: (transaction: RawQueries) => Promise<Result>,
  ): Promise<Result> {
    const transaction = new SimTransaction(world, process, {
      acquire: () => this.acquire(),
      release: (session) => void this.idle.push(session),
      rewritten: (statement) => this.rewritten(statement),
    });
    return await transaction.run(work);
  }

  private rewritten({ text, values }: Statement): Statement {
    return { text: this.rewrite(text), values };
  }

  private acquire(): SimSession {
    const session = this.idle.pop();
    if (session === undefined) throw new Error(`more than ${sessionCount} sessions at once`);
    return session;
  }
}

interface Sessions {
  acquire(): SimSession;
  release(session: SimSession): void;
  rewritten(statement: Statement): Statement;
}

class SimTransaction {
  private session: SimSession | null = null;
  private isGone = false;

  constructor(
    private readonly world: World,
    private readonly process: SimProcess,
    private readonly sessions: Sessions,
  ) {
    process.onDeath(() => (this.session?.flight === null ? this.drop() : undefined));
  }

  async run<Result>(work: (transaction: RawQueries) => Promise<Result>): Promise<Result> {
    try {
      const result = await work(new Queries((statement) => this.send(statement)));
      if (this.session !== null) await this.control('commit');
      return result;
    } catch (error) {
      if (!this.isGone && this.session !== null && !this.process.isDead) {
        await this.control('rollback').catch(() => undefined);
      }
      throw error;
    }
  }

  private async send(statement: Statement): Promise<pg.QueryResult> {
    if (this.isGone) throw new Error('the connection was lost');
    try {
      return await this.world.step<pg.QueryResult>(this.process, {
        label: summary(statement.text),
        start: () => this.begin(this.sessions.rewritten(statement)),
        onLost: () => this.drop(),
      });
    } catch (error) {
      report(this.world, error, statement.text);
      throw error;
    }
  }

  private begin(statement: Statement): RunningStatement<pg.QueryResult> {
    const now = iso(this.world);
    const session = (this.session ??= this.sessions.acquire());
    return session.isInTransaction ? session.run(statement, now) : session.beginAndRun(statement, now);
  }

  private async control(how: 'commit' | 'rollback'): Promise<void> {
    const { session } = this;
    if (session === null) return;
    await this.world.step(this.process, {
      label: how,
      start: () => (how === 'commit' ? session.commit() : session.rollback()),
      onLost: async () => {
        if (how === 'commit' && !session.isInTransaction) this.world.hadAmbiguousCommit = true;
        await this.drop();
      },
    });
    this.session = null;
    this.sessions.release(session);
  }

  /** The server notices that the process is gone. */
  private async drop(): Promise<void> {
    const { session } = this;
    this.isGone = true;
    this.session = null;
    if (session === null) return;
    if (session.isInTransaction) await session.rollback().landing;
    this.sessions.release(session);
  }
}

class Queries implements RawQueries {
  constructor(private readonly send: (statement: Statement) => Promise<pg.QueryResult>) {}

  async $queryRaw<Rows = unknown>(template: TemplateStringsArray | Prisma.Sql, ...values: unknown[]): Promise<Rows> {
    return (await this.send(statementOf(template, values))).rows as Rows;
  }

  async $executeRaw(template: TemplateStringsArray | Prisma.Sql, ...values: unknown[]): Promise<number> {
    return (await this.send(statementOf(template, values))).rowCount ?? 0;
  }
}

function statementOf(template: TemplateStringsArray | Prisma.Sql, values: unknown[]): Statement {
  if ('text' in template) return { text: template.text, values: template.values };
  if (values.some((value) => value instanceof Prisma.Sql)) return statementOf(Prisma.sql(template, ...values), []);
  return { text: template.reduce((left, right, place) => `${left}$${place}${right}`), values };
}

/** The server rejects nothing that correct production code does; a rejection is a bug. */
function report(world: World, error: unknown, text: string): void {
  if (!(error instanceof pg.DatabaseError)) return;
  // A process that did not receive its commit retries, and finds its row by the key.
  if (world.hadAmbiguousCommit && error.constraint === 'jobs_pkey') return;
  if (error.code === '25P02') return;
  world.problem(`the database rejected ${summary(text)}: ${error.code} ${error.message}`);
}

function iso(world: World): string {
  return new Date(world.nowMs()).toISOString();
}

/** The first words of a statement, for the trace. */
function summary(text: string): string {
  const known = summaries.get(text);
  if (known !== undefined) return known;
  const verb = /\b(ledger_\w+|top_up_\w+|UPDATE \w+|INSERT INTO \w+|DELETE FROM \w+)\b/.exec(text)?.[0];
  const made = verb ?? text.replace(/\s+/g, ' ').trim().slice(0, 60);
  summaries.set(text, made);
  return made;
}

const summaries = new Map<string, string>();

function atMostMs(work: Promise<unknown>, milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    void work.then(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
