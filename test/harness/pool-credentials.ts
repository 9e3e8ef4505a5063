import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { PlatformPool } from './platform-options.js';
import { distFolder } from './platform-processes.js';

/** Creates the queue user of a pool with the built command line; returns what its workers need in their environment. */
export async function poolEnvironment(
  { name, models }: Pick<PlatformPool, 'models'> & { name: string },
  /** The variables of api and ops. */
  env: Record<string, string>,
  dist = distFolder,
): Promise<Record<string, string>> {
  const line = ['pools', 'credentials', name, '--models', models.join(',')];
  const { stdout } = await promisify(execFile)(process.execPath, [join(dist, 'apps/cli/src/main.js'), ...line], {
    env: { PATH: process.env.PATH, ...env },
  });
  const credentials = stdout
    .trim()
    .split('\n')
    .map((each) => each.split(/=(.*)/s).slice(0, 2));
  return { ...Object.fromEntries(credentials), SLUICE_MODELS: models.join(',') };
}
