export { boundedRead, type ReadBound } from './bounded-read.js';
export { Prisma } from './generated/client.js';
export { type PrismaOptions, PrismaService } from './prisma.service.js';
export type { RawQueries, WholeTransaction } from './raw-queries.js';
