import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { ProviderLibrarySetting } from '#platform/config';
import type { WeightBlocks } from './row-kernels.js';

/** Result of running a small graph on a provider. */
export interface ProbeResult {
  usable: boolean;
  /** Why the provider does not work here; null if it does. */
  note: string | null;
  /** Storage of weights whose products are the same for a row alone and in a batch; only of the processor. */
  sameRows?: WeightRows[];
}

/** Whether the products of one kind of weights do not depend on the rows beside. */
export interface WeightRows extends WeightBlocks {
  same: boolean;
}

const timeoutMs = 60_000;
const childModule = fileURLToPath(new URL('./provider-probe.child.js', import.meta.url));

/** Multiplies two matrices on an execution provider, in a child process because its libraries may crash. */
export function probeProvider(
  provider: string,
  { signal, libraries }: { signal: AbortSignal; libraries: readonly ProviderLibrarySetting[] },
): Promise<ProbeResult> {
  return new Promise((resolve, reject) => {
    // Ends with the command and no earlier.
    const child = fork(childModule, [provider, JSON.stringify(libraries)], {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      timeout: timeoutMs,
    });
    const stop = (): void => void child.kill('SIGKILL');
    const finish = (result: ProbeResult): void => {
      signal.removeEventListener('abort', stop);
      if (signal.aborted) reject(signal.reason as Error);
      else resolve(result);
    };
    signal.addEventListener('abort', stop, { once: true });
    child.once('message', (result) => finish(result as ProbeResult));
    child.once('error', (error) => finish({ usable: false, note: error.message }));
    child.once('exit', (code, ended) => {
      const how = ended === null ? `exit code ${code}` : `signal ${ended}`;
      finish({ usable: false, note: `${provider} crashed the probe process (${how})` });
    });
  });
}
