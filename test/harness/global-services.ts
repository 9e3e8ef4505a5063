import type { TestProject } from 'vitest/node';
import { startPostgres } from './postgres-server.js';
import { compileProgram, sourcePath } from './source-program.js';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Superuser URL of the PostgreSQL server shared by the test run. */
    postgresUrl: string;
  }
}

/**
 * Starts one PostgreSQL for all suites of a run; each creates its own database. Redis starts quickly, so each suite
 * starts its own. The sandbox of the image decoder forbids it to keep what it compiles.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const [postgres] = await Promise.all([
    startPostgres(),
    compileProgram(sourcePath('libs/media/src/image/decoder/decode.main.ts')),
  ]);
  project.provide('postgresUrl', postgres.url);
  return () => postgres.close();
}
