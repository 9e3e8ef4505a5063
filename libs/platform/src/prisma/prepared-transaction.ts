import pg from 'pg';
import { Sql } from './generated/internal/prismaNamespace.js';
import type { RawQueries } from './raw-queries.js';

/** Statements that a connection keeps prepared; further ones are run as they come. */
const mostPrepared = 200;

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
  if (known !== undefined || names.size >= mostPrepared) return known;
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

/** One transaction on one connection; every statement is prepared there once, and parsed and planned no more. */
class PreparedTransaction implements RawQueries {
  /** Nobody knows what is still under way on the connection, or its statements are of another schema. */
  isBroken = false;

  constructor(
    private readonly client: pg.PoolClient,
    private readonly timeoutMs: number,
  ) {}

  async $queryRaw<Rows = unknown>(template: TemplateStringsArray | Sql, ...values: unknown[]): Promise<Rows> {
    return (await this.run(template, values)).rows as Rows;
  }

  async $executeRaw(template: TemplateStringsArray | Sql, ...values: unknown[]): Promise<number> {
    return (await this.run(template, values)).rowCount ?? 0;
  }

  /** `BEGIN` and its like. */
  async control(text: string): Promise<void> {
    await this.send({ text });
  }

  private run(template: TemplateStringsArray | Sql, values: unknown[]): Promise<pg.QueryResult> {
    const given = template instanceof Sql;
    const text = given ? template.text : textOf(template);
    return this.send({ name: nameOf(text), text, values: given ? template.values : values, types });
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

/**
 * Runs `work` in a transaction of prepared statements; rolls back when it rejects. Waits for a connection as long as the
 * pool allows, and `timeoutMs` for each answer; a connection that is late or broken is closed.
 */
export async function runPrepared<Result>(
  pool: pg.Pool,
  timeoutMs: number,
  work: (transaction: RawQueries) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  const transaction = new PreparedTransaction(client, timeoutMs);
  // A connection that ends between two statements says so here; without a listener that would end the process.
  const onLost = (): void => void (transaction.isBroken = true);
  client.on('error', onLost);
  try {
    await transaction.control('BEGIN');
    const result = await work(transaction);
    await transaction.control('COMMIT');
    return result;
  } catch (error) {
    if (!transaction.isBroken) await transaction.control('ROLLBACK').catch(() => undefined);
    throw error;
  } finally {
    client.off('error', onLost);
    client.release(transaction.isBroken);
  }
}
