import type { EventEmitter } from 'node:events';
import pg from 'pg';
import { type Answer, Convoy, type Statement } from './sim-convoy.js';

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

const begin: Statement = { text: 'BEGIN', values: [] };

/** Functions of the simulation stand before those of the server. */
const inSimulation = { options: '-c search_path=sim,pg_catalog,public' };

/** One connection of a simulated process to the real server. */
export class SimSession {
  isInTransaction = false;
  flight: Flight<Answer> | null = null;
  /** Its clock as far as that is certain: what a transaction has set goes with it. */
  private setNow = '';
  /** Statements that the server knows by their names. */
  private readonly parsed = new Set<string>();
  private convoy: Convoy | null = null;

  private constructor(
    private readonly client: pg.Client,
    readonly pid: number,
    /** Called when a transaction has ended: nothing else lets go of locks. */
    private readonly onEnded: () => void,
  ) {
    const { connection } = client as unknown as { connection: EventEmitter };
    connection.on('parseComplete', () => this.convoy?.handleParsed());
  }

  static async open(connection: pg.ClientConfig, onEnded: () => void): Promise<SimSession> {
    const client = new pg.Client({ ...connection, ...inSimulation });
    client.on('error', () => undefined);
    await client.connect();
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    return new SimSession(client, rows[0]?.pid ?? 0, onEnded);
  }

  /** One statement, prepared once, in the open transaction or alone. */
  run(statement: Statement, nowIso: string): Flight<Answer> {
    return this.fly(this.send(this.isInTransaction ? [] : this.clock(nowIso), statement));
  }

  /** The first statement of a transaction; its time is that of its beginning. */
  beginAndRun(statement: Statement, nowIso: string): Flight<Answer> {
    this.isInTransaction = true;
    return this.fly(this.send([...this.clock(nowIso), begin], statement));
  }

  commit(): Flight<Answer> {
    return this.fly(this.end('COMMIT'));
  }

  rollback(): Flight<Answer> {
    this.setNow = '';
    return this.fly(this.end('ROLLBACK'));
  }

  async close(): Promise<void> {
    await this.client.end();
  }

  private async end(how: 'COMMIT' | 'ROLLBACK'): Promise<Answer> {
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

  private send(ahead: readonly Statement[], statement: Statement): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.convoy = new Convoy([...ahead, statement], this.parsed, (error, answer) => {
        if (answer !== null) return resolve(answer);
        this.setNow = '';
        reject(error ?? new Error('the server did not answer'));
      });
      this.client.query(this.convoy);
    });
  }

  private fly(work: Promise<Answer>): Flight<Answer> {
    const flight: { -readonly [Member in keyof Flight<Answer>]: Flight<Answer>[Member] } = {
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

  private landed(flight: Flight<Answer>): void {
    flight.hasLanded = true;
    if (!this.isInTransaction) this.onEnded();
    if (this.flight === flight) this.flight = null;
  }
}
