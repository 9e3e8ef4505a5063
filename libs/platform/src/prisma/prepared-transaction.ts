import type { Writable } from 'node:stream';
import pg from 'pg';
import { Sql } from './generated/internal/prismaNamespace.js';
import type { RawQueries, WholeTransaction } from './raw-queries.js';

/** Statements that a connection keeps prepared; further ones are run as they come. */
const maxPrepared = 200;

/** As Prisma reads them: 8-byte integers are bigints. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    (oid === pg.types.builtins.INT8 ? BigInt : pg.types.getTypeParser(oid, format)) as typeof BigInt,
};

/** What PostgreSQL says of a prepared statement that does not fit the connection, or the schema, any more. */
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
  const text = template.reduce((left, right, place) => `${left}$${place}${right}`);
  texts.set(template, text);
  return text;
}

/** What the driver writes to; known to it, though not to its types. */
interface Wired {
  connection: { stream: Pick<Writable, 'cork' | 'uncork'> };
}

/**
 * One transaction on one connection; every statement is prepared there once, and parsed and planned no more. `BEGIN` leaves
 * with the first statement and, where somebody says which one that is, `COMMIT` with the last: the less is waited for
 * between them, the shorter the locks are held.
 */
class PreparedTransaction implements WholeTransaction {
  /** Nobody knows what is still under way on the connection, or its statements are of another schema. */
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

  private async run(template: TemplateStringsArray | Sql, values: unknown[], place?: 'last'): Promise<pg.QueryResult> {
    if (this.state === 'ended') throw new Error('The transaction has ended.');
    const given = template instanceof Sql;
    const text = given ? template.text : textOf(template);
    const { stream } = (this.client as unknown as Wired).connection;
    stream.cork();
    const begun = this.state === 'new' ? this.send({ text: 'BEGIN' }) : null;
    this.state = 'open';
    const answer = this.send({ name: nameOf(text), text, values: given ? template.values : values, types });
    const ended = place === 'last' ? this.end('COMMIT') : null;
    stream.uncork();
    // The first that failed is why the others did, and none of them is left on its way.
    const [, result] = await allOf([begun, answer, ended] as const);
    return result;
  }

  private async end(how: 'COMMIT' | 'ROLLBACK'): Promise<void> {
    this.state = 'ended';
    const { command } = await this.send({ text: how });
    // What the server cannot commit it rolls back without a complaint.
    if (command !== how) throw new Error('The transaction was rolled back.');
  }

  private async send(query: pg.QueryConfig): Promise<pg.QueryResult> {
    try {
      // Known to the driver, though not to its types.
      return await this.client.query({ ...query, ...{ query_timeout: this.timeoutMs } });
    } catch (error) {
      this.isBroken ||= !(error instanceof pg.DatabaseError) || staleStatement.has(error.code ?? '');
      throw error;
    }
  }
}

/** Waits for all; rejects with the reason of the first, in their order, that rejected. */
async function allOf<Works extends readonly unknown[]>(
  works: Works,
): Promise<{ -readonly [Place in keyof Works]: Awaited<Works[Place]> }> {
  await Promise.allSettled(works);
  return (await Promise.all(works)) as { -readonly [Place in keyof Works]: Awaited<Works[Place]> };
}

/**
 * Runs `work` in a transaction of prepared statements; rolls back when it rejects. Waits for a connection as long as the
 * pool allows, and `timeoutMs` for each answer; a connection that is late or broken is closed.
 */
export async function runPrepared<Result>(
  pool: pg.Pool,
  timeoutMs: number,
  work: (transaction: WholeTransaction) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  const transaction = new PreparedTransaction(client, timeoutMs);
  // A connection that ends between two statements says so here; without a listener that would end the process.
  const onLost = (): void => void (transaction.isBroken = true);
  client.on('error', onLost);
  try {
    const result = await work(transaction);
    await transaction.commit();
    return result;
  } catch (error) {
    await transaction.rollBack();
    throw error;
  } finally {
    client.off('error', onLost);
    client.release(transaction.isBroken);
  }
}
