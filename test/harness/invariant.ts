import { createLedger, isConsistent, type VerifyReport } from '#billing';
import { PrismaService } from '#platform/prisma';

/**
 * Invariant I of every test that involves billing. The ledger sums to zero, no balance is negative, a job is charged at
 * most once, open reservations belong to open jobs, and every balance is the sum of its entries. Throws naming the
 * violations; resolves to the figures for further assertions.
 */
export async function expectInvariant({ databaseUrl }: { databaseUrl: string }): Promise<VerifyReport['figures']> {
  const prisma = new PrismaService({ url: databaseUrl, poolSize: 1 });
  try {
    const report = await createLedger(prisma).verify();
    if (isConsistent(report)) return report.figures;
    const broken = Object.entries(report.breaks).filter(([, count]) => BigInt(count) !== 0n);
    throw new Error(`the ledger is broken: ${broken.map(([name, count]) => `${name}=${String(count)}`).join(', ')}`);
  } finally {
    await prisma.$disconnect();
  }
}
