export * from './generated/client.js';
export * from './prisma.service.js';
export type { RawQueries, WholeTransaction } from './raw-queries.js';
