import { PlatformError } from '#common';
import { connectionFailure } from './connection-failure.js';
import { createLogger } from './logger.js';

/** Logs the fatal error of a process. Known errors are one plain line; others include all details. */
export function reportFailure(app: string, thrown: unknown): void {
  const logger = createLogger(app);
  const error = connectionFailure(thrown) ?? thrown;
  if (error instanceof PlatformError) {
    const { cause } = error;
    logger.fatal({ code: error.code, ...(cause !== undefined && { error: cause }) }, `${app} ends: ${error.message}`);
  } else logger.fatal({ error }, `${app} stopped after an unexpected error`);
}
