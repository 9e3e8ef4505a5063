import { readFile } from 'node:fs/promises';

const pageBytes = 4_096;

/** Returns the resident memory of a process in bytes; 0 if it has ended, and where the system does not tell. */
export async function residentBytes(processId: number | undefined): Promise<number> {
  if (process.platform !== 'linux' || processId === undefined) return 0;
  const pages = await readFile(`/proc/${processId}/statm`, 'latin1').catch(() => '');
  return Number(pages.split(' ')[1] ?? 0) * pageBytes;
}

/** How a native program ends that a manipulated file confused. */
export const crashSignals: readonly (NodeJS.Signals | null)[] = [
  'SIGSEGV',
  'SIGBUS',
  'SIGFPE',
  'SIGABRT',
  'SIGILL',
  'SIGTRAP',
  'SIGSYS',
  'SIGXFSZ',
];
