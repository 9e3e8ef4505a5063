import { basename, join } from 'node:path';
import { type BackupManifest, type HomeFile, refuse } from '#backup';
import { keyFingerprint } from '#jobs/store-checks';
import { readIfPresent } from '#platform/files';
import { firstKeysFile, secretKeyFile } from '#platform/home';
import type { PrismaService } from '#platform/prisma';
import type { CliContext } from '../cli-context.js';

export const secretKeyName = 'SLUICE_SECRET_KEY';
const homeKey = basename(secretKeyFile(''));
/** The only files that a restore writes into the home. */
export const homeFileNames: readonly string[] = [homeKey, basename(firstKeysFile(''))];

/**
 * Returns the keys in the home, if they are those of the installation: a cluster has its key elsewhere, and a home beside
 * it may have another.
 */
export async function readHomeKeys(home: string, fingerprints: Readonly<Record<string, string>>): Promise<HomeFile[]> {
  const key = await readIfPresent(secretKeyFile(home));
  if (key === null || !isKeyOf(key.toString('utf8'), fingerprints)) return [];
  const files = await Promise.all(
    homeFileNames.map(async (name) => ({ name, content: await readIfPresent(join(home, name)) })),
  );
  return files.flatMap(({ name, content }) => (content === null ? [] : [{ name, content }]));
}

/** Throws unless what the backup holds encrypted can be read afterwards. */
export async function assertReadable(
  { config }: CliContext,
  { homeFiles, keyFingerprints }: BackupManifest,
  { replace, withoutKey }: { replace: boolean; withoutKey: boolean },
): Promise<void> {
  if (withoutKey || keyFingerprints[secretKeyName] === undefined) return;
  const { home, secretKey } = config;
  if (secretKey !== undefined) {
    if (isKeyOf(secretKey, keyFingerprints)) return;
    throw refuse(
      `${secretKeyName} is not the key of the backup: ${homeFiles.includes(homeKey) ? 'unset it' : 'set the right one'}, ` +
        `or ${lostKey}`,
    );
  }
  const inHome = (await readIfPresent(secretKeyFile(home)))?.toString('utf8') ?? null;
  if (homeFiles.includes(homeKey)) {
    if (inHome === null || replace || isKeyOf(inHome, keyFingerprints)) return;
    throw refuse(
      `${secretKeyFile(home)} is the key of another installation: use another SLUICE_HOME, or add --replace.`,
    );
  }
  if (inHome !== null && isKeyOf(inHome, keyFingerprints)) return;
  throw refuse(`The backup holds no key: set ${secretKeyName} to the one of the installation, or ${lostKey}`);
}

const lostKey =
  'add --without-key if it is lost: open requests, stored responses and download links cannot be read then.';

function isKeyOf(key: string, fingerprints: Readonly<Record<string, string>>): boolean {
  const trimmed = key.trim();
  if (!/^[0-9a-f]{64}$/i.test(trimmed)) return false;
  const noted = fingerprints[secretKeyName];
  return noted === undefined || keyFingerprint(secretKeyName, trimmed).toString('hex') === noted;
}

/** Lets the processes note another key at their start. */
export async function forgetKey(prisma: PrismaService): Promise<void> {
  await prisma.keyFingerprint.deleteMany({ where: { name: secretKeyName } });
}
