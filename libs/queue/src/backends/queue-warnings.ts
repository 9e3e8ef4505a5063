import { createLogger } from '#platform/logging';

/** The same warning again within this time is not logged: a store that is away is reported by every connection. */
const quietMs = 10_000;

/** Warnings of the transport in the log, the same one at most every 10 s. */
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
