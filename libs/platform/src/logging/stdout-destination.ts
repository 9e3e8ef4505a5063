import type { DestinationStream } from 'pino';
import { surviveLostOutput } from './lost-output.js';

/**
 * Writes lines to stdout synchronously, so that none is pending at exit. Lines that nobody reads any more are dropped:
 * pino's own destination retries a broken pipe forever inside `process.exit`.
 */
export function stdoutDestination(): DestinationStream {
  surviveLostOutput();
  return process.stdout;
}
