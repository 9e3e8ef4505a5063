/** Generates the Prisma client from the schema if it is missing or older, or always with `force`; `folder`: another checkout. */
export function generatePrismaClient(options?: { force?: boolean; folder?: string }): void;
