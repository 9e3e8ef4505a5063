import { isAudio, LedgerService, type VerifyReport } from '#billing';
import { PrismaService } from '#platform/prisma';

/**
 * Invariant I of every test that touches money: the ledger sums to zero, no balance is below it, a job is charged once
 * at most, open holds are those of open jobs, and every balance is what its entries add up to. Throws naming the
 * breaks; resolves to the figures for what else a test wants to say of them.
 */
export async function expectInvariant({ databaseUrl }: { databaseUrl: string }): Promise<VerifyReport['figures']> {
  const prisma = new PrismaService({ url: databaseUrl, poolSize: 1 });
  try {
    const report = await new LedgerService(prisma).verify();
    if (isAudio(report)) return report.figures;
    const broken = Object.entries(report.breaks).filter(([, count]) => BigInt(count) !== 0n);
    throw new Error(`the ledger is broken: ${broken.map(([name, count]) => `${name}=${String(count)}`).join(', ')}`);
  } finally {
    await prisma.$disconnect();
  }
}
