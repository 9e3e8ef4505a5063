import type { ClientBase, Pool } from 'pg';

/** Folds all usage into the sums of reports, as ops does some minutes late: what is not folded is not removed. */
export async function foldUsage(client: Pick<ClientBase | Pool, 'query'>): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ more: boolean }>(
      `SELECT usage_fold(interval '0', interval '1 year') AS more`,
    );
    if (rows[0]?.more !== true) return;
  }
}
