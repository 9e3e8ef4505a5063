import pg from 'pg';

/** A statement on its way: it lands, or it waits for a lock that another session holds. */
export interface Flight<Result> {
  hasLanded: boolean;
  result: Result | null;
  error: Error | null;
  readonly session: SimSession;
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

/** Functions of the simulation stand before those of the server. */
const inSimulation = { options: '-c search_path=sim,pg_catalog,public', pipeline: true };

/** One connection of a simulated process to the real server. */
export class SimSession {
  isInTransaction = false;
  flight: Flight<pg.QueryResult> | null = null;
  private setNow = '';

  private constructor(
    private readonly client: pg.Client,
    readonly pid: number,
  ) {}

  static async open(connection: pg.ClientConfig): Promise<SimSession> {
    const client = new pg.Client({ ...connection, ...inSimulation });
    client.on('error', () => undefined);
    await client.connect();
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    return new SimSession(client, rows[0]?.pid ?? 0);
  }

  /** One statement, prepared once, in the open transaction or alone. */
  run(statement: Statement, nowIso: string): Flight<pg.QueryResult> {
    const before: string[] = [];
    if (!this.isInTransaction && this.setNow !== nowIso) before.push(`SET sim.now = '${nowIso}'`);
    if (!this.isInTransaction) this.setNow = nowIso;
    return this.fly(this.send(before, statement));
  }

  /** The first statement of a transaction; its time is that of its beginning. */
  beginAndRun(statement: Statement, nowIso: string): Flight<pg.QueryResult> {
    this.isInTransaction = true;
    return this.fly(this.send([`BEGIN; SET LOCAL sim.now = '${nowIso}'`], statement));
  }

  commit(): Flight<pg.QueryResult> {
    return this.fly(this.end('COMMIT'));
  }

  rollback(): Flight<pg.QueryResult> {
    return this.fly(this.end('ROLLBACK'));
  }

  async close(): Promise<void> {
    await this.client.end();
  }

  private async end(how: 'COMMIT' | 'ROLLBACK'): Promise<pg.QueryResult> {
    const result = await this.client.query(how);
    this.isInTransaction = false;
    return result;
  }

  /** All at once: the server takes one after the other. */
  private async send(before: readonly string[], { text, values }: Statement): Promise<pg.QueryResult> {
    const sent = before.map((each) => this.client.query(each));
    const result = this.client.query({ name: nameOf(text), text, values, types });
    await Promise.all(sent);
    return await result;
  }

  private fly(work: Promise<pg.QueryResult>): Flight<pg.QueryResult> {
    const flight: { -readonly [Member in keyof Flight<pg.QueryResult>]: Flight<pg.QueryResult>[Member] } = {
      hasLanded: false,
      result: null,
      error: null,
      session: this,
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
    if (this.flight === flight) this.flight = null;
  }
}
