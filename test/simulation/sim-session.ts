import pg from 'pg';

/** A running statement: it completes, or waits for a lock of another session. */
export interface RunningStatement<Result> {
  hasCompleted: boolean;
  result: Result | null;
  error: Error | null;
  readonly session: SimSession;
  /** Number of ended transactions of its database when it was seen waiting for a lock; null: not seen waiting. */
  waitedAt: number | null;
  /** Settles when it is done; never rejects. */
  readonly landing: Promise<void>;
}

/** Same as Prisma: 8-byte integers are bigints. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    (oid === pg.types.builtins.INT8 ? BigInt : pg.types.getTypeParser(oid, format)) as typeof BigInt,
};

const names = new Map<string, string>();

/** A statement is parsed and planned once per connection. */
export function nameOf(text: string): string {
  const known = names.get(text);
  if (known !== undefined) return known;
  const name = `sim_${names.size}`;
  names.set(text, name);
  return name;
}

export interface Statement {
  text: string;
  values: unknown[];
}

const begin: Statement = { text: 'BEGIN', values: [] };

/** Connection methods needed for batched statements. */
interface Wire {
  stream: { cork(): void; uncork(): void };
  parsedStatements: Record<string, string | undefined>;
  submittedNamedStatements: Record<string, string | undefined>;
  parse(message: { name: string; text: string; types: number[] }): void;
  bind(message: { statement: string; values: unknown[] }): void;
  describe(message: { type: 'P'; name: string }): void;
  execute(message: object): void;
}

/** A query with preceding statements in the same message: one wake-up of the server and one response. */
class BatchingClient extends pg.Query {
  private readonly ahead: readonly Statement[];

  constructor(
    ahead: readonly Statement[],
    { text, values }: Statement,
    done: (error: Error | null, results?: pg.QueryResult | pg.QueryResult[]) => void,
  ) {
    super({ name: nameOf(text), text, values, types, callback: done } as pg.QueryConfig);
    this.ahead = ahead;
  }

  override submit = (connection: pg.Connection): void => {
    const wire = connection as unknown as Wire;
    wire.stream.cork();
    for (const { text, values } of this.ahead) {
      const statement = nameOf(text);
      const isKnown = wire.parsedStatements[statement] ?? wire.submittedNamedStatements[statement];
      if (isKnown === undefined) {
        wire.parse({ name: statement, text, types: [] });
        wire.submittedNamedStatements[statement] = text;
      }
      wire.bind({ statement, values });
      wire.describe({ type: 'P', name: '' });
      wire.execute({});
    }
    pg.Query.prototype.submit.call(this, connection);
    wire.stream.uncork();
  };
}

/** Functions of the simulation precede those of the server. */
const inSimulation = { options: '-c search_path=sim,pg_catalog,public', pipeline: true };

/** One connection of a simulated process to the real server. */
export class SimSession {
  isInTransaction = false;
  flight: RunningStatement<pg.QueryResult> | null = null;
  /** The connection's clock as far as it is known: a rollback also reverts its setting. */
  private setNow = '';

  private constructor(
    private readonly client: pg.Client,
    readonly pid: number,
    /** Called when a transaction has ended, since only that releases locks. */
    private readonly onEnded: () => void,
  ) {}

  static async open(connection: pg.ClientConfig, onEnded: () => void): Promise<SimSession> {
    const client = new pg.Client({ ...connection, ...inSimulation });
    client.on('error', () => undefined);
    await client.connect();
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    return new SimSession(client, rows[0]?.pid ?? 0, onEnded);
  }

  /** Runs one prepared statement, in the open transaction or alone. */
  run(statement: Statement, nowIso: string): RunningStatement<pg.QueryResult> {
    return this.fly(this.send(this.isInTransaction ? [] : this.clock(nowIso), statement));
  }

  /** The first statement of a transaction; its time is that of its start. */
  beginAndRun(statement: Statement, nowIso: string): RunningStatement<pg.QueryResult> {
    this.isInTransaction = true;
    return this.fly(this.send([...this.clock(nowIso), begin], statement));
  }

  commit(): RunningStatement<pg.QueryResult> {
    return this.fly(this.end('COMMIT'));
  }

  rollback(): RunningStatement<pg.QueryResult> {
    this.setNow = '';
    return this.fly(this.end('ROLLBACK'));
  }

  async close(): Promise<void> {
    await this.client.end();
  }

  private async end(how: 'COMMIT' | 'ROLLBACK'): Promise<pg.QueryResult> {
    const result = await this.send([], { text: how, values: [] });
    this.isInTransaction = false;
    return result;
  }

  /** Sets the time of the connection if it differs. */
  private clock(nowIso: string): Statement[] {
    if (this.setNow === nowIso) return [];
    this.setNow = nowIso;
    return [{ text: `SELECT set_config('sim.now', $1, false)`, values: [nowIso] }];
  }

  private send(ahead: readonly Statement[], statement: Statement): Promise<pg.QueryResult> {
    return new Promise((resolve, reject) => {
      const batchingClient = new BatchingClient(ahead, statement, (error, results) => {
        const last = Array.isArray(results) ? results.at(-1) : results;
        if (error === null && last !== undefined) return resolve(last);
        this.setNow = '';
        reject(error ?? new Error('the server did not answer'));
      });
      this.client.query(batchingClient);
    });
  }

  private fly(work: Promise<pg.QueryResult>): RunningStatement<pg.QueryResult> {
    const flight: {
      -readonly [Member in keyof RunningStatement<pg.QueryResult>]: RunningStatement<pg.QueryResult>[Member];
    } = {
      hasCompleted: false,
      result: null,
      error: null,
      session: this,
      waitedAt: null,
      landing: Promise.resolve(),
    };
    flight.landing = work.then(
      (result) => {
        flight.result = result;
        this.landed(flight);
      },
      (error: unknown) => {
        flight.error = error instanceof Error ? error : new Error(String(error));
        this.landed(flight);
      },
    );
    this.flight = flight;
    return flight;
  }

  private landed(flight: RunningStatement<pg.QueryResult>): void {
    flight.hasCompleted = true;
    if (!this.isInTransaction) this.onEnded();
    if (this.flight === flight) this.flight = null;
  }
}
