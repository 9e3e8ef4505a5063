import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The findings of a trial of a model on a provider. */
export interface TrialRecord {
  modelId: string;
  provider: string;
  device: string;
  driver: string;
  /** Why the model does not run there; null if it does. */
  failure: string | null;
  /** Where its results are not those of the processor; null if they are, or were not compared. */
  difference: string | null;
  /** Why nothing was compared; null if it was. */
  uncompared: string | null;
  providerMs: number | null;
  cpuMs: number | null;
}

/** All that a trial depends on, in a fixed order: another value of any of them is tried anew. */
export type TrialKey = Readonly<Record<string, string>>;

/** Bounds of the store: records that it holds, and the age at which one is tried anew. */
const maxRecords = 512;
const maxAgeMs = 90 * 86_400_000;

/** Remembers trials in the data folder, a file each. A folder that cannot be written remembers nothing. */
export class TrialStore {
  private readonly folder: string;
  private hasWarned = false;

  constructor(
    home: string,
    private readonly warn: (message: string, error: unknown) => void,
  ) {
    this.folder = join(home, 'provider-trials');
  }

  async read(key: TrialKey): Promise<TrialRecord | null> {
    const path = this.pathOf(key);
    try {
      if (Date.now() - (await stat(path)).mtimeMs > maxAgeMs) return null;
      const record: unknown = JSON.parse(await readFile(path, 'utf8'));
      return isRecord(record) ? record : null;
    } catch {
      return null;
    }
  }

  async write(key: TrialKey, record: TrialRecord): Promise<void> {
    const path = this.pathOf(key);
    try {
      await mkdir(this.folder, { recursive: true });
      // Another worker may read it meanwhile.
      const unfinished = `${path}.${process.pid}`;
      await writeFile(unfinished, JSON.stringify(record, null, 2));
      await rename(unfinished, path);
      await this.prune();
    } catch (error) {
      if (!this.hasWarned) this.warn('trials of providers are not remembered', error);
      this.hasWarned = true;
    }
  }

  private pathOf(key: TrialKey): string {
    const hash = createHash('sha256').update(JSON.stringify(key));
    return join(this.folder, `${hash.digest('hex').slice(0, 32)}.json`);
  }

  /** Removes the oldest records above the bound. */
  private async prune(): Promise<void> {
    const names = await readdir(this.folder);
    if (names.length <= maxRecords) return;
    const aged = await Promise.all(
      names.map(async (name) => {
        const path = join(this.folder, name);
        return {
          path,
          writtenAtMs: await stat(path).then(
            ({ mtimeMs }) => mtimeMs,
            () => Infinity,
          ),
        };
      }),
    );
    const oldest = aged
      .toSorted((one, other) => one.writtenAtMs - other.writtenAtMs)
      .slice(0, names.length - maxRecords);
    await Promise.all(oldest.map(({ path }) => rm(path, { force: true })));
  }
}

function isRecord(value: unknown): value is TrialRecord {
  const isTextOrNull = (member: unknown) => member === null || typeof member === 'string';
  const isTimeOrNull = (member: unknown) => member === null || typeof member === 'number';
  if (typeof value !== 'object' || value === null) return false;
  const { failure, difference, uncompared, providerMs, cpuMs } = value as Record<keyof TrialRecord, unknown>;
  return [failure, difference, uncompared].every(isTextOrNull) && [providerMs, cpuMs].every(isTimeOrNull);
}
