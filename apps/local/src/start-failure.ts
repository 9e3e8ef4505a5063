import { PlatformError } from '#common';
import { startCommand, StartRefusal } from '#platform/process';
import { connectionFailure } from '#platform/logging';
import { lacksLoopback, noLoopback } from './listen-address.js';

const otherHome = `use another home: SLUICE_HOME=… ${startCommand}`;
const noRights = `This user may not: give it the folder (chown -R), or ${otherHome}`;
const diskFull = `The disk is full: free some space, or ${otherHome}`;
const openFiles = 'Too many files are open: raise the limit of open files (ulimit -n 4096; LimitNOFILE= of systemd).';

/** By code of the operating system: what an operator should do. */
const advice: Record<string, string> = {
  ENOSPC: diskFull,
  EDQUOT: diskFull,
  EROFS: `Its file system is read-only: ${otherHome}`,
  EACCES: noRights,
  EPERM: noRights,
  ENOENT: `It is missing: restore the folder from a backup, or ${otherHome}`,
  ENOTDIR: `A part of this path is a file: ${otherHome}`,
  EISDIR: `It is a folder and should be a file: move it away, or ${otherHome}`,
  EIO: `Its disk reports an error: check it, or ${otherHome}`,
  EMFILE: openFiles,
  ENFILE: openFiles,
  EAGAIN:
    'No process can be started: raise the limit of processes (ulimit -u; TasksMax= of systemd; pids of a container).',
  ENOMEM: 'No memory is left: stop other programs, or give the machine or container more.',
};

/**
 * Returns what `npm start` says when it ends: one sentence about what an operator can change, or the stack of an error
 * that nobody foresaw.
 */
export function describeStartFailure(error: unknown): string {
  if (error instanceof StartRefusal) return error.message;
  const failure = connectionFailure(error);
  if (failure !== null) return failure.message;
  if (error instanceof PlatformError) return error.message;
  if (!(error instanceof Error)) return String(error);
  const { code, path, syscall } = error as NodeJS.ErrnoException;
  if (lacksLoopback(code) && error.message.includes('127.0.0.1')) return noLoopback(code);
  const known = code === undefined || syscall === undefined ? undefined : advice[code];
  if (known === undefined) return error.stack ?? error.message;
  return `${path ?? syscall} cannot be used (${error.message}). ${known}`;
}
