import { failureText, type Logger } from '#platform/logging';
import type { ReadinessChange } from './readiness.js';

/**
 * Logs one line when a readiness check begins to fail, with the reason that clients do not get, and one when it passes
 * again.
 */
export function logReadiness(logger: Logger): (change: ReadinessChange) => void {
  return ({ check, error, isStartup }) => {
    if (error !== null && isStartup) logger.info({ check }, `readiness: ${check}: ${failureText(error)}`);
    else if (error === null) logger.info({ check }, `readiness: ${check} answers again`);
    else logger.warn({ check }, `readiness: ${check} fails: ${failureText(error)}`);
  };
}
