/**
 * Waits for work until a signal aborts, and rejects with its reason then. The work goes on: others may wait for it, or it
 * cannot be cancelled.
 */
export async function within<Value>(signal: AbortSignal, work: Promise<Value>): Promise<Value> {
  let onAbort: () => void = () => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(signal.reason instanceof Error ? signal.reason : new Error('aborted'));
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
