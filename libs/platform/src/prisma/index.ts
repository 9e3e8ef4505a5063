export * from './generated/client.js';
export * from './prisma.service.js';
