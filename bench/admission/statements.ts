import type pg from 'pg';

export interface DatabaseWork {
  /** Without `BEGIN` and `COMMIT`. */
  statements: number;
  transactions: number;
  /** Statements by number of executions, in descending order. */
  texts: { calls: number; text: string }[];
}

/** Starts counting. */
export async function beginCount(pool: pg.Pool): Promise<() => Promise<DatabaseWork>> {
  const transactionsBefore = await transactions(pool);
  await pool.query('SELECT pg_stat_statements_reset()');
  return async () => {
    const { rows } = await pool.query<{ calls: string; query: string }>(
      `SELECT calls, query FROM pg_stat_statements
        WHERE query !~* '^(begin|commit|rollback|set )' AND query !~* 'pg_stat' AND query !~ '^SELECT FROM jobs'
        ORDER BY calls DESC`,
    );
    const texts = rows.map(({ calls, query }) => ({
      calls: Number(calls),
      text: query.replaceAll(/\s+/g, ' ').trim(),
    }));
    const statements = texts.reduce((sum, { calls }) => sum + calls, 0);
    return { statements, transactions: (await transactions(pool)) - transactionsBefore, texts };
  };
}

async function transactions(pool: pg.Pool): Promise<number> {
  // Backends report their statistics after being idle for a second.
  await new Promise((done) => setTimeout(done, 1_500));
  const { rows } = await pool.query<{ count: string }>(
    'SELECT xact_commit + xact_rollback AS count FROM pg_stat_database WHERE datname = current_database()',
  );
  return Number(rows[0]?.count ?? 0);
}
