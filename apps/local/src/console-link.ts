import { ConsoleLinksService, ConsoleSessionsRepository } from '#accounts';
import { PrismaService } from '#platform/prisma';

/** The path of a one-time link to the console. Null: there is no ADMIN key of an operator account, or no database now. */
export async function createConsoleLink(databaseUrl: string): Promise<string | null> {
  const prisma = new PrismaService({ url: databaseUrl, applicationName: 'sluice-local', poolSize: 1 });
  try {
    return await new ConsoleLinksService(new ConsoleSessionsRepository(prisma)).create();
  } catch {
    // The start must not fail for a link; the console's sign-in takes a key as well.
    return null;
  } finally {
    await prisma.$disconnect();
  }
}
