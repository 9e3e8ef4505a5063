import { readFile } from 'node:fs/promises';
import { mainMemoryBytes } from '#platform/devices';

/** Reads what the operating system knows about memory. */
export interface MemoryReader {
  /** Physical memory of a process in bytes, without files that it maps; null when it cannot be read. */
  privateBytes(pid: number): Promise<number | null>;
  /** Share of this machine's memory that is still available, 0 to 1; null when it cannot be read. */
  availableShare(): Promise<number | null>;
}

/** From `/proc`. On other systems everything is unknown, and nothing is guarded. */
export class LinuxMemoryReader implements MemoryReader {
  async privateBytes(pid: number): Promise<number | null> {
    const text = await readFile(`/proc/${pid}/status`, 'latin1').catch(() => '');
    const anonymous = kibibytesOf(text, 'RssAnon');
    return anonymous === null ? null : anonymous + (kibibytesOf(text, 'RssShmem') ?? 0);
  }

  /** In a container with a limit of its own, the kernel ends processes there; the host's memory says nothing. */
  async availableShare(): Promise<number | null> {
    const text = await readFile('/proc/meminfo', 'latin1').catch(() => '');
    const total = kibibytesOf(text, 'MemTotal');
    const available = kibibytesOf(text, 'MemAvailable');
    if (total === null || available === null || mainMemoryBytes() < total) return null;
    return available / total;
  }
}

function kibibytesOf(text: string, name: string): number | null {
  const found = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1];
  return found === undefined ? null : Number(found) * 1024;
}
