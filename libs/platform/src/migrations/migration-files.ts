import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** One migration as Prisma lays it out: `<name>/migration.sql`. */
export interface MigrationFile {
  name: string;
  sql: string;
  /** sha256 of the file in hex, as Prisma stores it in `_prisma_migrations`. */
  checksum: string;
}

/** Returns the migrations of a folder in the order they apply. */
export async function readMigrations(folder: string): Promise<MigrationFile[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  return Promise.all(
    names.sort().map(async (name) => {
      const sql = await readFile(join(folder, name, 'migration.sql'), 'utf8');
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}
