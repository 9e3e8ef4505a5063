import { readFile } from 'node:fs/promises';

/** Peak memory of a process in MiB; NaN without /proc. */
export async function peakMebibytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const kilobytes = /^VmHWM:\s+(\d+)/m.exec(status)?.[1];
  return kilobytes === undefined ? Number.NaN : Number(kilobytes) / 1024;
}
