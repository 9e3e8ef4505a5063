import { Socket } from 'node:net';
import type { PostgresConnection as BullMQConnection } from 'bullmq';
import { PlatformError } from '#common';
import {
  assertSchemaCompatibility,
  LATEST_SCHEMA_VERSION,
  PostgresConnection,
  quoteSchemaName,
  runMigrations,
  SchemaMigrationRequiredError,
} from './bull-library.js';

/** Connections per process for queue operations, in addition to the listening one. */
const poolSize = 8;

/**
 * Maximum wait for a connection, even for one that others use, in ms. At least as long as a call to a busy store may
 * take.
 */
const connectionTimeoutMillis = 6_000;

/** Timeout after which an unresponsive connection is dropped, since the other side may be gone silently. In ms. */
const queryTimeoutMs = 10_000;

/** The schema of BullMQ's tables. */
export function queueSchema(namespace: string): string {
  return `${namespace}_queue`;
}

export type ListenClient = Awaited<ReturnType<BullMQConnection['getListenClient']>>;

export interface SharedConnectionOptions {
  url: string;
  /** Schema of BullMQ's tables; nothing else is in it. */
  schema: string;
  clientName: string;
}

/**
 * The single pool and listening connection of a process, shared by all its queues and workers. BullMQ closes a
 * connection with the queue that uses it; this one stays open until `shutDown`.
 */
export class SharedPostgresConnection extends PostgresConnection {
  constructor({ url, schema, clientName }: SharedConnectionOptions) {
    super({
      connectionString: url,
      schema,
      max: poolSize,
      application_name: `sluice-${clientName}`,
      connectionTimeoutMillis,
      query_timeout: queryTimeoutMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
    });
    this.setMaxListeners(0);
    this.retryLostConnections();
  }

  override async close(): Promise<void> {
    // The connection stays open, because the other queues of this process still use it.
  }

  async shutDown(): Promise<void> {
    await super.close();
  }

  /** Runs `work` in one transaction. The connection it gets sends every query of its pool in that transaction. */
  async transaction<T>(work: (connection: SharedPostgresConnection) => Promise<T>): Promise<T> {
    const client = await this.pool.connect();
    const query = (text: string, parameters?: readonly unknown[]) => client.query(text, parameters);
    const pool: unknown = Object.create(this.pool, { query: { value: query } });
    let isBroken = false;
    try {
      await client.query('BEGIN');
      const result = await work(Object.create(this, { pool: { value: pool } }) as SharedPostgresConnection);
      await client.query('COMMIT');
      return result;
    } catch (error) {
      await client.query('ROLLBACK').catch(() => (isBroken = true));
      throw error;
    } finally {
      client.release(isBroken);
    }
  }

  /** Breaks the listening connection, in case it is stalled. BullMQ and the bus then listen on another. */
  renewListener(): void {
    // A connection being opened has its own timeout.
    this.getListenClient().then(
      (client) => this.breakOff(client),
      () => undefined,
    );
  }

  /** Breaks a known listening connection. */
  breakOff({ connection }: ListenClient): void {
    if (connection?.stream instanceof Socket) connection.stream.destroy();
  }

  /** Migrates BullMQ's tables. Safe when several processes start at once. */
  async migrate(): Promise<void> {
    const client = await this.pool.connect();
    try {
      if ((await currentVersion(client, this.schema)) >= LATEST_SCHEMA_VERSION) return;
      await requireMigrator(client, this.schema);
      await runMigrations(await withoutCreatingSchema(client, this.schema), this.schema);
    } finally {
      client.release();
    }
  }

  // BullMQ retries only refused connections; one that ended half-way would fail the job it served.
  private retryLostConnections(): void {
    const query = this.pool.query.bind(this.pool);
    this.pool.query = async <R>(text: string, params?: readonly unknown[]) => {
      try {
        return await query<R>(text, params);
      } catch (error) {
        throw isLostConnection(error) ? connectionLost(error) : error;
      }
    };
  }
}

type PoolClient = Awaited<ReturnType<BullMQConnection['pool']['connect']>>;

async function currentVersion(client: PoolClient, schema: string): Promise<number> {
  try {
    return await assertSchemaCompatibility(client, schema);
  } catch (error) {
    if (error instanceof SchemaMigrationRequiredError) return 0;
    throw error;
  }
}

/** The roles of pools may not change tables, and a new version of BullMQ may bring tables that they may not read yet. */
async function requireMigrator(client: PoolClient, schema: string): Promise<void> {
  const sql = "SELECT has_schema_privilege(oid, 'CREATE') AS may FROM pg_namespace WHERE nspname = $1";
  const { rows } = await client.query(sql, [schema]);
  if ((rows as { may: boolean }[])[0]?.may !== false) return;
  const then = 'then run `sluice migrate` with SLUICE_POOLS, or `sluice pools credentials` for the pool of this worker';
  const message = `The tables of the queue are older than this version: start api or ops of this version, ${then}.`;
  throw new PlatformError('SERVICE_UNAVAILABLE', message);
}

/**
 * BullMQ's migration says `CREATE SCHEMA IF NOT EXISTS`, which Postgres refuses to a role that may not create schemas
 * even when the schema exists. A worker's role owns its schema and may create no other.
 */
async function withoutCreatingSchema(client: PoolClient, schema: string): Promise<Pick<PoolClient, 'query'>> {
  const { rows } = await client.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema]);
  if (rows.length === 0) return client;
  const createSchema = `CREATE SCHEMA IF NOT EXISTS ${quoteSchemaName(schema)}`;
  return {
    query: (text: string, params?: readonly unknown[]) =>
      text === createSchema ? Promise.resolve({ rows: [] }) : client.query(text, params),
  };
}

/** Returns an error in the form that BullMQ recognizes as a connection error. */
function connectionLost(cause: unknown): Error {
  return Object.assign(new Error('The connection to Postgres was lost.', { cause }), { code: 'ECONNREFUSED' });
}

/** Recognizes SQLSTATE classes 08 (connection) and 57P (shutdown), and the error codes of the socket. */
export function isLostConnection(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return (
    /^(08|57P)/.test(code) ||
    ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT'].includes(code) ||
    /terminated|timeout exceeded when trying to connect|not queryable|connection ended/i.test(error.message)
  );
}
