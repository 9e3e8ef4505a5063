import type { NanoUsd } from '#common';
import type { SimDatabase } from './sim-database.js';

export interface ScenarioAccounts {
  accountIds: readonly string[];
  /** One per account. */
  keyIds: readonly string[];
}

/** Start time of most scenarios; the others start on the same day. */
export const noonMs = Date.UTC(2026, 0, 15, 12);

export interface ScenarioResources {
  /** Balance of each account. */
  usdNano: readonly NanoUsd[];
  /** Of the first account; null: none. */
  stakeNano: NanoUsd | null;
  /** Of the first account's key; null: none. */
  keyLimitNano: NanoUsd | null;
}

/** Id of an account or key of a scenario, by its index from 0. */
type IdOf = (place: number, scenario: number) => string;

const accountId: IdOf = (place, scenario) => uuid(0, place, scenario);
const keyId: IdOf = (place, scenario) => uuid(1, place, scenario);

/** Maximum number of accounts per scenario. */
const maxAccounts = 2;

function uuid(kind: number, place: number, scenario: number): string {
  return `00000000-0000-4000-8${kind}0${place + 1}-${scenario.toString(16).padStart(12, '0')}`;
}

/** Accounts of scenarios 1 to `stories`. */
function allIds(idOf: IdOf, stories: number): string[] {
  return Array.from({ length: stories * maxAccounts }, (_, index) =>
    idOf(index % maxAccounts, Math.floor(index / maxAccounts) + 1),
  );
}

/** A PostgreSQL array literal. */
function literal(ids: readonly string[]): string {
  return `{${ids.join(',')}}`;
}

/** Sets the balances of a scenario's own accounts, with a key each. */
export async function beginScenario(
  database: SimDatabase,
  { scenario, nowIso, usdNano, stakeNano, keyLimitNano }: ScenarioResources & { scenario: number; nowIso: string },
): Promise<ScenarioAccounts> {
  const accountIds = usdNano.map((_, place) => accountId(place, scenario));
  const keyIds = usdNano.map((_, place) => keyId(place, scenario));
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

/**
 * Creates the clock, the accounts of `stories` scenarios and the start of each in a schema that precedes all others in
 * the search path. Adds indexes for the checks and disables WAL for these tables.
 */
export const simulationSchema = (stories: number): string => `
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

DO $$
BEGIN
  PERFORM set_config('sim.now', '${new Date(noonMs).toISOString()}', true);
  PERFORM set_config('search_path', 'sim,pg_catalog,public', true);
  INSERT INTO accounts (id, name) SELECT id, 'simulated' FROM unnest('${literal(allIds(accountId, stories))}'::uuid[]) id;
  INSERT INTO api_keys (id, account_id, kind, key_hash, last6)
  SELECT id, account_id, 'INFERENCE', decode(md5(id::text), 'hex'), ''
    FROM unnest('${literal(allIds(keyId, stories))}'::uuid[], '${literal(allIds(accountId, stories))}'::uuid[]) AS pairs(id, account_id);
END $$;

CREATE INDEX sim_transactions_of_request ON ledger_transactions (request_id) WHERE request_id IS NOT NULL;
CREATE INDEX sim_transactions_by_reference ON ledger_transactions (account_id) WHERE reference IS NOT NULL;

-- Those that no other table names first: what is logged may not name what is not.
DO $$
DECLARE
  each regclass;
BEGIN
  LOOP
    SELECT c.oid INTO each FROM pg_class c
     WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND c.relpersistence = 'p'
       AND NOT EXISTS (SELECT 1 FROM pg_constraint f JOIN pg_class o ON o.oid = f.conrelid
                        WHERE f.contype = 'f' AND f.confrelid = c.oid AND o.oid <> c.oid AND o.relpersistence = 'p')
     LIMIT 1;
    EXIT WHEN NOT FOUND;
    EXECUTE format('ALTER TABLE %s SET UNLOGGED', each);
  END LOOP;
END $$;

CREATE FUNCTION sim.begin_story(accounts uuid[], keys uuid[], usd bigint[], stake bigint, key_limit bigint, at text)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('sim.now', at, true);
  IF key_limit IS NOT NULL THEN
    UPDATE api_keys SET limit_usd_nano = key_limit WHERE id = keys[1];
  END IF;
  FOR i IN 1..cardinality(accounts) LOOP
    IF usd[i] > 0 THEN
      PERFORM ledger_credit('grant', accounts[i], 'USD', usd[i], NULL, '');
    END IF;
  END LOOP;
  IF stake > 0 THEN
    PERFORM ledger_set_stake(accounts[1], stake);
  END IF;
END $$;
`;
