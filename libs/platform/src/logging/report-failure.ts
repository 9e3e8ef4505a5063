import { PlatformError } from '#common';
import { createLogger } from './logger.js';

/**
 * The last line of a process that cannot go on. What the house knows stands in one plain sentence; anything else with
 * all that is known of it.
 */
export function reportFailure(app: string, error: unknown): void {
  const logger = createLogger(app);
  if (error instanceof PlatformError) {
    const { cause } = error;
    logger.fatal({ code: error.code, ...(cause !== undefined && { error: cause }) }, `${app} ends: ${error.message}`);
  } else logger.fatal({ error }, `${app} could not go on`);
}
