import pg from 'pg';

/** A statement on its way: it lands, or it waits for a lock that another session holds. */
export interface Flight<Result> {
  hasLanded: boolean;
  result: Result | null;
  error: Error | null;
  readonly session: SimSession;
  /** It waited for a lock when so many transactions of its database had ended; null: not seen to wait. */
  waitedAt: number | null;
  /** Settles when it has landed; never rejects. */
  readonly landing: Promise<void>;
}

/** As Prisma reads them: 8-byte integers are bigints. */
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

/** What a connection needs to offer for statements that travel together. */
interface Wire {
  stream: { cork(): void; uncork(): void };
  parsedStatements: Record<string, string | undefined>;
  submittedNamedStatements: Record<string, string | undefined>;
  parse(message: { name: string; text: string; types: number[] }): void;
  bind(message: { statement: string; values: unknown[] }): void;
  describe(message: { type: 'P'; name: string }): void;
  execute(message: object): void;
}

/** A query with statements ahead of it in the same message: the server is woken once, and answers once. */
class Convoy extends pg.Query {
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

/** Functions of the simulation stand before those of the server. */
const inSimulation = { options: '-c search_path=sim,pg_catalog,public', pipeline: true };

/** One connection of a simulated process to the real server. */
export class SimSession {
  isInTransaction = false;
  flight: Flight<pg.QueryResult> | null = null;
  /** Its clock as far as that is certain: what a transaction has set goes with it. */
  private setNow = '';

  private constructor(
    private readonly client: pg.Client,
    readonly pid: number,
    /** Called when a transaction has ended: nothing else lets go of locks. */
    private readonly onEnded: () => void,
  ) {}

  static async open(connection: pg.ClientConfig, onEnded: () => void): Promise<SimSession> {
    const client = new pg.Client({ ...connection, ...inSimulation });
    client.on('error', () => undefined);
    await client.connect();
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    return new SimSession(client, rows[0]?.pid ?? 0, onEnded);
  }

  /** One statement, prepared once, in the open transaction or alone. */
  run(statement: Statement, nowIso: string): Flight<pg.QueryResult> {
    return this.fly(this.send(this.isInTransaction ? [] : this.clock(nowIso), statement));
  }

  /** The first statement of a transaction; its time is that of its beginning. */
  beginAndRun(statement: Statement, nowIso: string): Flight<pg.QueryResult> {
    this.isInTransaction = true;
    return this.fly(this.send([...this.clock(nowIso), begin], statement));
  }

  commit(): Flight<pg.QueryResult> {
    return this.fly(this.end('COMMIT'));
  }

  rollback(): Flight<pg.QueryResult> {
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

  /** Sets the time of the connection where it is another. */
  private clock(nowIso: string): Statement[] {
    if (this.setNow === nowIso) return [];
    this.setNow = nowIso;
    return [{ text: `SELECT set_config('sim.now', $1, false)`, values: [nowIso] }];
  }

  private send(ahead: readonly Statement[], statement: Statement): Promise<pg.QueryResult> {
    return new Promise((resolve, reject) => {
      const convoy = new Convoy(ahead, statement, (error, results) => {
        const last = Array.isArray(results) ? results.at(-1) : results;
        if (error === null && last !== undefined) return resolve(last);
        this.setNow = '';
        reject(error ?? new Error('the server did not answer'));
      });
      this.client.query(convoy);
    });
  }

  private fly(work: Promise<pg.QueryResult>): Flight<pg.QueryResult> {
    const flight: { -readonly [Member in keyof Flight<pg.QueryResult>]: Flight<pg.QueryResult>[Member] } = {
      hasLanded: false,
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

  private landed(flight: Flight<pg.QueryResult>): void {
    flight.hasLanded = true;
    if (!this.isInTransaction) this.onEnded();
    if (this.flight === flight) this.flight = null;
  }
}
