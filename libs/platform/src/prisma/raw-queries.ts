import type { Prisma } from './generated/client.js';

/**
 * SQL as tagged templates, as Prisma's client and its transactions take it. Repositories that name no more than this can
 * also run in a prepared transaction.
 */
export interface RawQueries {
  $queryRaw<Rows = unknown>(text: TemplateStringsArray | Prisma.Sql, ...values: unknown[]): Promise<Rows>;
  /** Resolves to the number of rows. */
  $executeRaw(text: TemplateStringsArray | Prisma.Sql, ...values: unknown[]): Promise<number>;
  /**
   * The same transaction, for the one statement that nothing follows: its commit leaves with it, so that no lock is held
   * while an answer travels. What it resolves to has been committed. Absent where nobody knows what follows.
   */
  readonly last?: RawQueries;
}

/** A transaction whose work is all there is in it. */
export interface WholeTransaction extends RawQueries {
  readonly last: RawQueries;
}
