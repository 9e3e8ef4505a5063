import type { NanoUsd } from '#common';
import type { SimDatabase } from './sim-database.js';

export interface StoryAccounts {
  accountIds: readonly string[];
  /** One per account. */
  keyIds: readonly string[];
}

export interface StoryMeans {
  /** What each of the accounts can spend. */
  usdNano: readonly NanoUsd[];
  /** Of the first account; null: none. */
  stakeNano: NanoUsd | null;
  /** Of the first account's key; null: none. */
  keyLimitNano: NanoUsd | null;
}

function uuid(kind: number, place: number, story: number): string {
  return `00000000-0000-4000-8${kind}0${place}-${story.toString(16).padStart(12, '0')}`;
}

/** Accounts of one story's own, with a key each. */
export async function beginStory(
  database: SimDatabase,
  { story, nowIso, usdNano, stakeNano, keyLimitNano }: StoryMeans & { story: number; nowIso: string },
): Promise<StoryAccounts> {
  const accountIds = usdNano.map((_, place) => uuid(0, place + 1, story));
  const keyIds = usdNano.map((_, place) => uuid(1, place + 1, story));
  await database.look('SELECT sim.begin_story($1::uuid[], $2::uuid[], $3::bigint[], $4, $5, $6)', [
    accountIds,
    keyIds,
    usdNano.map(String),
    String(stakeNano ?? 0),
    keyLimitNano === null ? null : String(keyLimitNano),
    nowIso,
  ]);
  return { accountIds, keyIds };
}

/** Time, and the beginning of stories, as functions of a schema of their own that stands before all others. */
export const simulationSchema = `
CREATE SCHEMA sim;

CREATE FUNCTION sim.now() RETURNS timestamptz LANGUAGE sql STABLE AS
$$ SELECT pg_catalog.current_setting('sim.now')::timestamptz $$;

CREATE FUNCTION sim.clock_timestamp() RETURNS timestamptz LANGUAGE sql STABLE AS
$$ SELECT pg_catalog.current_setting('sim.now')::timestamptz $$;

-- Defaults are bound to the server's own clock when they are made.
DO $$
DECLARE
  each record;
BEGIN
  FOR each IN
    SELECT c.oid::regclass AS relation, a.attname AS name, pg_get_expr(d.adbin, d.adrelid) AS made
      FROM pg_attrdef d JOIN pg_class c ON c.oid = d.adrelid AND c.relnamespace = 'public'::regnamespace
      JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
     WHERE pg_get_expr(d.adbin, d.adrelid) ~ '(now\\(\\)|CURRENT_TIMESTAMP|clock_timestamp\\(\\))'
  LOOP
    EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT %s', each.relation, each.name,
      regexp_replace(each.made, '(now\\(\\)|CURRENT_TIMESTAMP|clock_timestamp\\(\\))', 'sim.now()', 'g'));
  END LOOP;
END $$;

CREATE FUNCTION sim.begin_story(accounts uuid[], keys uuid[], usd bigint[], stake bigint, key_limit bigint, at text)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('sim.now', at, true);
  FOR i IN 1..cardinality(accounts) LOOP
    INSERT INTO accounts (id, name) VALUES (accounts[i], 'simulated');
    INSERT INTO api_keys (id, account_id, kind, key_hash, last6, limit_usd_nano)
    VALUES (keys[i], accounts[i], 'INFERENCE', decode(md5(keys[i]::text), 'hex'), '', CASE i WHEN 1 THEN key_limit END);
    IF usd[i] > 0 THEN
      PERFORM ledger_credit('grant', accounts[i], 'USD', usd[i], NULL, '');
    END IF;
  END LOOP;
  IF stake > 0 THEN
    PERFORM ledger_set_stake(accounts[1], stake);
  END IF;
END $$;
`;
