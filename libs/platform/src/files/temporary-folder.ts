import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isProcessAlive } from '#common';

/** The first sweep of each folder in this process: what lies there under our id afterwards is ours. */
const firstSweeps = new Map<string, Promise<void>>();

/**
 * Where a process keeps files for a while, each use in a folder of its own, named by the process. What a killed one left is
 * deleted at the next start, whatever its id: a container that is started again has those it had before.
 */
export class TemporaryFolder {
  /** Default: one of this user's in the system's folder for such files. Containers must not share it. */
  constructor(readonly path = join(tmpdir(), `sluice-media-${process.getuid?.() ?? 'user'}`)) {}

  /** Deletes what dead processes of this machine left; at the first call in a process also what has its own id. */
  async sweep(): Promise<void> {
    const first = firstSweeps.get(this.path);
    if (first === undefined) return await this.sweepFirst();
    await first;
    await this.remove((owner) => !isProcessAlive(owner));
  }

  /** Runs `use` with a new folder, which is deleted afterwards. */
  async with<Result>(use: (folder: string) => Promise<Result>): Promise<Result> {
    const folder = await this.make();
    try {
      return await use(folder);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** As `with`, for generators: whoever asks must `rm` it. */
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

  private async remove(isLeft: (owner: number) => boolean): Promise<void> {
    const names = await readdir(this.path).catch(() => []);
    for (const name of names) {
      const [, owner] = /^(\d+)-/.exec(name) ?? [];
      if (owner === undefined || !isLeft(Number(owner))) continue;
      // What cannot be deleted is no reason not to start.
      await rm(join(this.path, name), { recursive: true, force: true }).catch(() => undefined);
    }
  }
}
