import { execFileSync } from 'node:child_process';

/** Whether file systems can be mounted here: containers often have no right to, not even as root. */
export const mayMount =
  process.getuid?.() === 0 && mayRun('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']);

/** Whether a command ends well. */
export function mayRun(command: string, words: readonly string[]): boolean {
  try {
    execFileSync(command, words, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** A file system in memory, which only root can make. It can be full, or read-only, at once. */
export class SmallDisk {
  private constructor(readonly folder: string) {}

  /** `size`: such as `2m`. */
  static mount(folder: string, size: string): SmallDisk {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=755`, 'tmpfs', folder]);
    return new SmallDisk(folder);
  }

  forbidWriting(): void {
    execFileSync('mount', ['-o', 'remount,ro', this.folder]);
  }

  unmount(): void {
    execFileSync('umount', [this.folder]);
  }
}
