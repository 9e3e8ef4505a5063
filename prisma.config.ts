// Only Prisma's own tools read this file, such as `npx prisma migrate`. The project applies its migrations itself
// (libs/platform/src/migrations) and generates its client without them (scripts/generate-prisma.mjs).
export default {
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  datasource: { url: process.env.DATABASE_URL },
};
