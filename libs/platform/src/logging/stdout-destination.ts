import type { DestinationStream } from 'pino';

let guarded = false;

/**
 * Writes lines to stdout synchronously, so that none is pending at exit. After the reader has gone (`npm start` or a
 * log collector died) lines are dropped: pino's own destination retries a broken pipe forever inside `process.exit`.
 */
export function stdoutDestination(): DestinationStream {
  if (!guarded) {
    guarded = true;
    process.stdout.on('error', dropBrokenPipe);
  }
  return process.stdout;
}

function dropBrokenPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}
