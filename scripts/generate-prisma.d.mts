/** Generates the Prisma client from the schema if it is missing or older, or always with `force`. */
export function generatePrismaClient(options?: { force?: boolean }): void;
