import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isProcessAlive } from '#common';

/** First sweep of each folder in this process; later entries with this pid belong to it. */
const firstSweeps = new Map<string, Promise<void>>();

/**
 * Temporary files of a process, in one folder per use named after the process. Folders of a killed process are deleted
 * at the next start, even with the same pid: restarted containers reuse pids.
 */
export class TemporaryFolder {
  /** Default: a per-user folder in the system's temporary folder. Containers must not share it. */
  constructor(readonly path = join(tmpdir(), `sluice-media-${process.getuid?.() ?? 'user'}`)) {}

  /**
   * Deletes folders of dead processes on this machine; the first call in a process also deletes those with its own pid.
   */
  async sweep(): Promise<void> {
    const first = firstSweeps.get(this.path);
    if (first === undefined) return await this.sweepFirst();
    await first;
    await this.remove((owner) => !isProcessAlive(owner));
  }

  /** Calls `use` with a new folder and deletes it afterwards. */
  async with<Result>(use: (folder: string) => Promise<Result>): Promise<Result> {
    const folder = await this.make();
    try {
      return await use(folder);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** Like `with`, for generators: the caller must call `rm`. */
  async make(): Promise<string> {
    await (firstSweeps.get(this.path) ?? this.sweepFirst());
    await mkdir(this.path, { recursive: true, mode: 0o700 });
    return await mkdtemp(join(this.path, `${process.pid}-`));
  }

  private async sweepFirst(): Promise<void> {
    const sweep = this.remove((owner) => owner === process.pid || !isProcessAlive(owner));
    firstSweeps.set(this.path, sweep);
    await sweep;
  }

  private async remove(isLeftOver: (owner: number) => boolean): Promise<void> {
    const names = await readdir(this.path).catch(() => []);
    for (const name of names) {
      const [, owner] = /^(\d+)-/.exec(name) ?? [];
      if (owner === undefined || !isLeftOver(Number(owner))) continue;
      // Files that cannot be deleted must not prevent the start.
      await rm(join(this.path, name), { recursive: true, force: true }).catch(() => undefined);
    }
  }
}
