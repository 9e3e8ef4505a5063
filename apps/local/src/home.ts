import { randomBytes } from 'node:crypto';
import { constants, existsSync } from 'node:fs';
import { access, chmod, mkdir, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { errorText } from '#common/values';
import { readIfPresent } from '#platform/files';
import { firstKeysFile, runtimeFile, secretKeyFile, writePrivate } from '#platform/home';
import { type ProcessIdentity, startCommand, StartRefusal } from '#platform/process';

/** Contents of `runtime.json`, through which the command line finds a running installation. */
export interface RuntimeFile extends ProcessIdentity {
  databaseUrl: string;
  /** The embedded one. */
  hasOwnDatabase: boolean;
  /** Absent: the queue is in the database. */
  queueUrl?: string;
  /** `SLUICE_QUEUE_KEY` and `SLUICE_SECRET_KEY` of api and ops. */
  queueKey: string;
  secretKey: string;
  baseUrl: string;
  /** Health and metrics of the api. */
  healthUrl: string;
}

/** Creates the home, accessible only to its owner. Throws a `StartRefusal` for an unusable folder. */
export async function openHome(home: string): Promise<void> {
  try {
    await mkdir(home, { recursive: true });
    await chmod(home, 0o700);
  } catch (error) {
    const reason = await reasonOf(error, home);
    throw new StartRefusal(`${home} cannot be used (${reason}). Choose another: SLUICE_HOME=… ${startCommand}`);
  }
}

/** Node says ENOENT of a new folder on a file system that is read-only; the folder above tells the cause. */
async function reasonOf(error: unknown, home: string): Promise<string> {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return errorText(error);
  let above = dirname(resolve(home));
  while (!existsSync(above) && above !== dirname(above)) above = dirname(above);
  return access(above, constants.W_OK).then(
    () => errorText(error),
    (cause: unknown) => errorText(cause),
  );
}

/** Returns the secret key of this home, created at its first start. */
export async function readSecretKey(home: string): Promise<string> {
  const file = secretKeyFile(home);
  const content = await readIfPresent(file);
  if (content !== null) {
    const known = content.toString('utf8').trim();
    if (/^[0-9a-f]{64}$/i.test(known)) return known;
    throw new StartRefusal(
      `${file} does not hold 64 hex digits. Restore it from a backup, or delete it: a new key is made, and what the old ` +
        'one encrypted is lost, such as open jobs and stored responses.',
    );
  }
  const key = randomBytes(32).toString('hex');
  await writePrivate(file, `${key}\n`);
  return key;
}

export async function writeRuntimeFile(home: string, runtime: RuntimeFile): Promise<void> {
  await writePrivate(runtimeFile(home), `${JSON.stringify(runtime, null, 2)}\n`);
}

/** Writes the keys of the first start for its owner; returns the path. */
export async function writeFirstKeys(
  home: string,
  { adminKey, inferenceKey }: { adminKey: string; inferenceKey: string },
): Promise<string> {
  const file = firstKeysFile(home);
  await writePrivate(file, `Admin key       ${adminKey}\nInference key   ${inferenceKey}\n`);
  return file;
}

export async function removeRuntimeFile(home: string): Promise<void> {
  await rm(runtimeFile(home), { force: true });
}
