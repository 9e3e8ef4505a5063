import { defineConfig, env } from 'prisma/config';

// Only Prisma's own tools read this file; the project applies its migrations itself (libs/platform/src/migrations).
export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  datasource: { url: env('DATABASE_URL') },
});
