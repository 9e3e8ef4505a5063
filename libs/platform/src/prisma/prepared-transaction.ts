import type { Writable } from 'node:stream';
import pg from 'pg';
import { Sql } from './generated/internal/prismaNamespace.js';
import type { RawQueries, WholeTransaction } from './raw-queries.js';

/** Maximum number of prepared statements per connection; further ones run unprepared. */
const maxPrepared = 200;

/** Same as Prisma: 8-byte integers are bigints. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    (oid === pg.types.builtins.INT8 ? BigInt : pg.types.getTypeParser(oid, format)) as typeof BigInt,
};

/** PostgreSQL error codes of a prepared statement that no longer fits the connection or the schema. */
const staleStatement = new Set(['0A000', '26000']);

const names = new Map<string, string>();
const texts = new WeakMap<TemplateStringsArray, string>();

function nameOf(text: string): string | undefined {
  const known = names.get(text);
  if (known !== undefined || names.size >= maxPrepared) return known;
  const name = `sluice_${names.size}`;
  names.set(text, name);
  return name;
}

/** `a ${x} b ${y}` is `a $1 b $2`. */
function textOf(template: TemplateStringsArray): string {
  const known = texts.get(template);
  if (known !== undefined) return known;
  const text = template.reduce((left, right, position) => `${left}$${position}${right}`);
  texts.set(template, text);
  return text;
}

/** The driver's socket stream, missing in its types. */
interface DriverInternals {
  connection: { stream: Pick<Writable, 'cork' | 'uncork'> };
}

/**
 * One transaction on one connection with prepared statements. `BEGIN` is sent with the first statement and, if marked,
 * `COMMIT` with the last: fewer round trips mean shorter locks.
 */
class PreparedTransaction implements WholeTransaction {
  /** The state of the connection is unknown, or its statements belong to an old schema. */
  isBroken = false;
  readonly last: RawQueries;
  private state: 'new' | 'open' | 'ended' = 'new';

  constructor(
    private readonly client: pg.PoolClient,
    private readonly timeoutMs: number,
  ) {
    this.last = {
      $queryRaw: async <Rows>(template: TemplateStringsArray | Sql, ...values: unknown[]) =>
        (await this.run(template, values, 'last')).rows as Rows,
      $executeRaw: async (template, ...values) => (await this.run(template, values, 'last')).rowCount ?? 0,
    };
  }

  async $queryRaw<Rows = unknown>(template: TemplateStringsArray | Sql, ...values: unknown[]): Promise<Rows> {
    return (await this.run(template, values)).rows as Rows;
  }

  async $executeRaw(template: TemplateStringsArray | Sql, ...values: unknown[]): Promise<number> {
    return (await this.run(template, values)).rowCount ?? 0;
  }

  async commit(): Promise<void> {
    if (this.state === 'open') await this.end('COMMIT');
  }

  /** Never rejects. */
  async rollBack(): Promise<void> {
    if (this.state === 'open' && !this.isBroken) await this.end('ROLLBACK').catch(() => undefined);
  }

  private async run(
    template: TemplateStringsArray | Sql,
    values: unknown[],
    position?: 'last',
  ): Promise<pg.QueryResult> {
    if (this.state === 'ended') throw new Error('The transaction has ended.');
    const isSql = template instanceof Sql;
    const text = isSql ? template.text : textOf(template);
    const { stream } = (this.client as unknown as DriverInternals).connection;
    stream.cork();
    const begun = this.state === 'new' ? this.send({ text: 'BEGIN' }) : null;
    this.state = 'open';
    const answer = this.send({ name: nameOf(text), text, values: isSql ? template.values : values, types });
    const ended = position === 'last' ? this.end('COMMIT') : null;
    stream.uncork();
    // The first failure causes the others; all statements settle before this rejects.
    const [, result] = await allOf([begun, answer, ended] as const);
    return result;
  }

  private async end(how: 'COMMIT' | 'ROLLBACK'): Promise<void> {
    this.state = 'ended';
    const { command } = await this.send({ text: how });
    // On a failed transaction the server turns COMMIT into a rollback without an error.
    if (command !== how) throw new Error('The transaction was rolled back.');
  }

  private async send(query: pg.QueryConfig): Promise<pg.QueryResult> {
    try {
      // Supported by the driver but missing in its types.
      return await this.client.query({ ...query, ...{ query_timeout: this.timeoutMs } });
    } catch (error) {
      this.isBroken ||= !(error instanceof pg.DatabaseError) || staleStatement.has(error.code ?? '');
      throw error;
    }
  }
}

/** Waits for all promises; rejects with the first rejection in order. */
async function allOf<Works extends readonly unknown[]>(
  works: Works,
): Promise<{ -readonly [Place in keyof Works]: Awaited<Works[Place]> }> {
  await Promise.allSettled(works);
  return (await Promise.all(works)) as { -readonly [Place in keyof Works]: Awaited<Works[Place]> };
}

/**
 * Runs `work` in a transaction of prepared statements; rolls back if it rejects. Uses the pool's connection timeout and
 * `timeoutMs` per response. Closes a connection that is slow or broken.
 */
export async function runPrepared<Result>(
  pool: pg.Pool,
  timeoutMs: number,
  work: (transaction: WholeTransaction) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  const transaction = new PreparedTransaction(client, timeoutMs);
  // A connection that ends between two statements emits an error; without a listener it would end the process.
  const onConnectionLost = (): void => void (transaction.isBroken = true);
  client.on('error', onConnectionLost);
  try {
    const result = await work(transaction);
    await transaction.commit();
    return result;
  } catch (error) {
    await transaction.rollBack();
    throw error;
  } finally {
    client.off('error', onConnectionLost);
    client.release(transaction.isBroken);
  }
}
