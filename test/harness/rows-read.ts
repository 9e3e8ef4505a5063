import { Prisma, type PrismaService } from '#platform/prisma';

interface PlanNode {
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: PlanNode[];
}

type Raw = (text: TemplateStringsArray | Prisma.Sql, ...values: unknown[]) => Promise<unknown>;

/**
 * Returns how many rows of each table the database reads for what `read` asks inside of transactions. `read` gets plans
 * instead of rows, so its own result means nothing.
 */
export async function rowsRead(
  prisma: PrismaService,
  read: (prisma: PrismaService) => Promise<unknown>,
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  const explained = Object.create(prisma) as PrismaService;
  const $transaction = (work: (transaction: Prisma.TransactionClient) => Promise<unknown>, options?: object) =>
    prisma.$transaction((transaction) => work(explain(transaction, counts)), options);
  Object.defineProperty(explained, '$transaction', { value: $transaction });
  await read(explained);
  return counts;
}

function explain(transaction: Prisma.TransactionClient, counts: Record<string, number>): Prisma.TransactionClient {
  const $queryRaw: Raw = async (text, ...values) => {
    const statement = 'raw' in text ? Prisma.sql(text, ...values) : text;
    const rows = await transaction.$queryRaw<{ 'QUERY PLAN': { Plan: PlanNode }[] }[]>(
      Prisma.sql`EXPLAIN (ANALYZE, FORMAT JSON) ${statement}`,
    );
    for (const { 'QUERY PLAN': plans } of rows) for (const { Plan } of plans) count(Plan, counts);
    return rows;
  };
  const explained = Object.create(transaction) as Prisma.TransactionClient;
  Object.defineProperty(explained, '$queryRaw', { value: $queryRaw });
  return explained;
}

function count(node: PlanNode, counts: Record<string, number>): void {
  const { 'Relation Name': table, 'Actual Rows': rows, 'Actual Loops': loops, Plans: below = [] } = node;
  const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
  if (table !== undefined) counts[table] = (counts[table] ?? 0) + (rows + removed) * loops;
  for (const child of below) count(child, counts);
}
