import { existsSync } from 'node:fs';
import { chmod, mkdir } from 'node:fs/promises';
import { refuse } from '#backup';
import { withFileLock } from '#model-store';
import { forgetPostgresVariables } from '#platform/config';
import { startEmbeddedPostgres } from '#platform/embedded-postgres';
import { lockFile, postgresFolder } from '#platform/home';
import type { CliContext } from '../cli-context.js';

/** Runs `work` with the database of this installation, which is started for it if it is that of a stopped home. */
export async function withDatabase<Result>(
  context: CliContext,
  work: (databaseUrl: string) => Promise<Result>,
): Promise<Result> {
  const url = await context.databaseUrl();
  if (url !== undefined) return await work(url);
  const { home } = context.config;
  if (!existsSync(postgresFolder(home))) {
    throw refuse(`There is no installation in ${home}: set SLUICE_HOME to its folder, or DATABASE_URL.`);
  }
  return await withLockedHome(context, () => withServer(postgresFolder(home), work));
}

/** Runs `work` while nothing else can start on this home, which is made if it does not exist. */
export async function withLockedHome<Result>(context: CliContext, work: () => Promise<Result>): Promise<Result> {
  const { home } = context.config;
  await mkdir(home, { recursive: true });
  await chmod(home, 0o700);
  const onWait = ({ pid }: { pid: number }, state: string): void => {
    if (state === 'running') throw refuse(`Sluice runs on ${home} (process ${pid}): stop it first.`);
  };
  return await withFileLock({ path: lockFile(home), onWait, heartbeatMs: 500, signal: context.signal }, work);
}

/** Runs `work` with a server of its own for a data folder, which is created if it does not exist. */
export async function withServer<Result>(
  dataFolder: string,
  work: (databaseUrl: string) => Promise<Result>,
): Promise<Result> {
  // They are about other databases.
  forgetPostgresVariables();
  const server = await startEmbeddedPostgres({ dataFolder });
  try {
    return await work(server.url);
  } finally {
    await server.stop();
  }
}
