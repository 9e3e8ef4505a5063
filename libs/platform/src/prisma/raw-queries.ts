import type { Prisma } from './generated/client.js';

/**
 * Raw SQL as tagged templates, as in Prisma's client and its transactions. Repositories that only need this can also
 * run in a prepared transaction.
 */
export interface RawQueries {
  $queryRaw<Rows = unknown>(text: TemplateStringsArray | Prisma.Sql, ...values: unknown[]): Promise<Rows>;
  /** Resolves to the number of rows. */
  $executeRaw(text: TemplateStringsArray | Prisma.Sql, ...values: unknown[]): Promise<number>;
  /**
   * The same transaction for its last statement: the commit is sent with it, so that no lock is held during a round
   * trip. Once resolved, it is committed. Absent when the last statement is unknown.
   */
  readonly last?: RawQueries;
}

/** A transaction that consists of this work only. */
export interface WholeTransaction extends RawQueries {
  readonly last: RawQueries;
}
