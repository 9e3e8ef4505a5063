import { maxSpread, placesOf, rebaseAt, stepOf } from '../../fairness/fair-order.js';
import type { SharedPostgresConnection } from '../../connections/postgres-connection.js';
import type { FairPlace, FairTurn } from '../../contract/fair-turn.js';

/*
 * The state of `FairOrder` in unlogged tables next to BullMQ's: no commit waits for the disk, and after a crash of the
 * server the virtual time is read from the queue again. Pools have no rights on them. The names carry a version,
 * because replicas of two versions may run at once.
 */
const createObjects = `
CREATE UNLOGGED TABLE IF NOT EXISTS fair_clock_1 (
  queue text PRIMARY KEY, now integer NOT NULL, top integer NOT NULL, shift integer NOT NULL DEFAULT 0
);
CREATE UNLOGGED TABLE IF NOT EXISTS fair_account_1 (
  queue text NOT NULL, account text NOT NULL, ends integer NOT NULL, recovered_ends integer NOT NULL DEFAULT 0,
  PRIMARY KEY (queue, account)
);
CREATE OR REPLACE FUNCTION fair_places_1(p_queue text, p_accounts text[], p_steps integer[], p_recovered boolean[])
RETURNS integer[] LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  clock fair_clock_1;
  v_first integer;
  v_tag integer;
  v_ends integer;
  v_recovered_ends integer;
  places integer[] := '{}';
BEGIN
  INSERT INTO fair_clock_1 (queue, now, top)
    SELECT p_queue, 1, GREATEST(1, (SELECT max(priority) FROM job WHERE queue = p_queue AND state = 'waiting'))
  ON CONFLICT DO NOTHING;
  -- One call after the other: what follows sees what the ones before have committed.
  SELECT * INTO clock FROM fair_clock_1 WHERE queue = p_queue FOR UPDATE;
  -- A job that was on its way during a rebase has a tag of the time before.
  IF clock.shift > 0 THEN
    UPDATE job SET priority = GREATEST(clock.now, priority - clock.shift)
     WHERE queue = p_queue AND state = 'waiting' AND priority > clock.top;
  END IF;
  SELECT priority INTO v_first FROM job
   WHERE queue = p_queue AND state = 'waiting' AND priority > 0 ORDER BY priority, seq LIMIT 1;
  IF v_first IS NOT NULL THEN
    clock.now := GREATEST(clock.now, v_first);
  ELSE
    clock.now := clock.top;
    DELETE FROM fair_account_1 WHERE queue = p_queue;
  END IF;
  IF clock.now >= ${rebaseAt} THEN
    clock.shift := clock.now - 1;
    -- A locked row is being taken or released; if it waits afterwards, the statement above finds it.
    UPDATE job SET priority = GREATEST(1, priority - clock.shift)
     WHERE queue = p_queue AND id IN (
       SELECT id FROM job WHERE queue = p_queue AND state IN ('waiting', 'delayed', 'active') AND priority > 0
          FOR UPDATE SKIP LOCKED);
    DELETE FROM fair_account_1 WHERE queue = p_queue AND ends <= clock.now;
    UPDATE fair_account_1 SET ends = ends - clock.shift, recovered_ends = GREATEST(0, recovered_ends - clock.shift)
     WHERE queue = p_queue;
    clock.top := GREATEST(1, clock.top - clock.shift);
    clock.now := 1;
  END IF;
  FOR position IN 1 .. cardinality(p_accounts) LOOP
    SELECT ends, recovered_ends INTO v_ends, v_recovered_ends FROM fair_account_1
     WHERE queue = p_queue AND account = p_accounts[position];
    v_tag := LEAST(
      GREATEST(clock.now, CASE WHEN p_recovered[position] THEN v_recovered_ends ELSE v_ends END), clock.now + ${maxSpread});
    IF p_recovered[position] THEN
      v_recovered_ends := v_tag + p_steps[position];
      v_ends := GREATEST(clock.now, v_ends) + p_steps[position];
    ELSE
      v_ends := v_tag + p_steps[position];
    END IF;
    INSERT INTO fair_account_1 (queue, account, ends, recovered_ends)
      VALUES (p_queue, p_accounts[position], v_ends, COALESCE(v_recovered_ends, 0))
    ON CONFLICT (queue, account) DO UPDATE SET ends = EXCLUDED.ends, recovered_ends = EXCLUDED.recovered_ends;
    clock.top := GREATEST(clock.top, v_ends, v_recovered_ends);
    places := places || v_tag ||
      (v_first IS NOT NULL AND NOT p_recovered[position] AND v_tag = clock.now)::integer;
  END LOOP;
  UPDATE fair_clock_1 SET now = clock.now, top = clock.top, shift = clock.shift WHERE queue = p_queue;
  RETURN places;
END;
$$`;

const assignStatement = 'SELECT fair_places_1($1, $2::text[], $3::integer[], $4::boolean[]) AS places';

/** Counts the jobs with a tag up to the one that the next job of the account would get. */
const aheadStatement = `
SELECT count(*)::integer AS ahead FROM job
 WHERE queue = $1 AND state = 'waiting' AND priority <= GREATEST(
   (SELECT now FROM fair_clock_1 WHERE queue = $1),
   (SELECT ends FROM fair_account_1 WHERE queue = $1 AND account = $2),
   (SELECT min(priority) FROM job WHERE queue = $1 AND state = 'waiting' AND priority > 0))`;

/** SQLSTATEs for a function and a table that do not exist yet. */
const missing = ['42883', '42P01'];

/** Resolves to the places of the turns, in order. */
export async function assignPostgresPlaces(
  connection: SharedPostgresConnection,
  queue: string,
  turns: readonly FairTurn[],
): Promise<FairPlace[]> {
  const values = [
    queue,
    turns.map(({ account }) => account),
    turns.map(stepOf),
    turns.map(({ isRecovered }) => isRecovered === true),
  ];
  const rows = await withObjects(connection, () => connection.pool.query(assignStatement, values));
  return placesOf((rows[0] as { places: number[] } | undefined)?.places ?? []);
}

export async function countPostgresAhead(
  connection: SharedPostgresConnection,
  queue: string,
  account: string,
): Promise<number> {
  const rows = await withObjects(connection, () => connection.pool.query(aheadStatement, [queue, account]));
  return (rows[0] as { ahead: number } | undefined)?.ahead ?? 0;
}

/** Creates the tables and the function at their first use. */
async function withObjects(
  connection: SharedPostgresConnection,
  query: () => Promise<{ rows: unknown[] }>,
): Promise<unknown[]> {
  try {
    return (await query()).rows;
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error) || !missing.includes(String(error.code))) throw error;
    await connection.transaction(async ({ pool, schema }) => {
      // Two replicas that create them at once would fail on each other.
      await pool.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`fair order ${schema}`]);
      await pool.query(createObjects);
    });
    return (await query()).rows;
  }
}
