import type { DestinationStream } from 'pino';

let guarded = false;

/**
 * Lines to stdout, written before the call returns, so that none is left to write when the process exits. Once the
 * reader has gone (`npm start` was killed, a log collector died) the lines are dropped: pino's own destination tries a
 * broken pipe again without end inside `process.exit`, and the process stays for ever.
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
