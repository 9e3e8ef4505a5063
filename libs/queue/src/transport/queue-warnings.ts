import { createLogger } from '#platform/logging';

/** Interval within which a repeated warning is not logged, in ms: every connection reports an unavailable store. */
const quietMs = 10_000;

/** Returns a function that logs warnings of the transport, and the same one at most every 10 s. */
export function logWarnings(clientName: string): (message: string, error?: unknown) => void {
  const logger = createLogger(`queue-${clientName}`);
  const lastAtMs = new Map<string, number>();
  return (message, error) => {
    const now = performance.now();
    if (now - (lastAtMs.get(message) ?? -Infinity) < quietMs) return;
    lastAtMs.set(message, now);
    logger.warn({ error }, message);
  };
}
