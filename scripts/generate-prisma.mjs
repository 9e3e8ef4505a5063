import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const schema = join(root, 'prisma', 'schema.prisma');
const generated = join(root, 'libs', 'platform', 'src', 'prisma', 'generated', 'client.ts');

/** Generates the Prisma client from the schema if it is missing or older. Needs no network. */
export function generatePrismaClient({ force = false } = {}) {
  if (!force && existsSync(generated) && statSync(generated).mtimeMs >= statSync(schema).mtimeMs) return;
  const cli = createRequire(import.meta.url).resolve('prisma/build/index.js');
  const result = spawnSync(process.execPath, [cli, 'generate', '--no-hints'], {
    cwd: root,
    encoding: 'utf8',
    env: {
      ...process.env,
      // Generating uses neither, but Prisma would download the first and refuse to start without the second.
      PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
      DATABASE_URL: process.env.DATABASE_URL ?? 'postgresql://unused',
      PRISMA_HIDE_UPDATE_MESSAGE: '1',
      CHECKPOINT_DISABLE: '1',
    },
  });
  if (result.status !== 0) throw new Error(`prisma generate failed:\n${result.stdout ?? ''}${result.stderr ?? ''}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    generatePrismaClient({ force: process.argv.includes('--force') });
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  }
}
