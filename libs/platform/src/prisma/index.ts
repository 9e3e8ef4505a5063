export * from './generated/client.js';
export * from './prisma.service.js';
export type { RawQueries } from './raw-queries.js';
