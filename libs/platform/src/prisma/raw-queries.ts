import type { Prisma } from './generated/client.js';

/**
 * SQL as tagged templates, as Prisma's client and its transactions take it. Repositories that name no more than this can
 * also run in a prepared transaction.
 */
export interface RawQueries {
  $queryRaw<Rows = unknown>(text: TemplateStringsArray | Prisma.Sql, ...values: unknown[]): Promise<Rows>;
  /** Resolves to the number of rows. */
  $executeRaw(text: TemplateStringsArray | Prisma.Sql, ...values: unknown[]): Promise<number>;
}
