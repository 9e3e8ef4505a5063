import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** What a provider makes of a small graph. */
export interface ProbeAnswer {
  usable: boolean;
  /** Why it is of no use here; null where it is. */
  note: string | null;
}

const timeoutMs = 60_000;
const childModule = fileURLToPath(new URL('./provider-probe.child.js', import.meta.url));

/** Multiplies two matrices on an execution provider, in a process of its own: libraries that crash end only that. */
export function probeProvider(provider: string, signal: AbortSignal): Promise<ProbeAnswer> {
  return new Promise((resolve, reject) => {
    // Stopped with the command, and with it alone.
    const child = fork(childModule, [provider], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'], timeout: timeoutMs });
    const stop = (): void => void child.kill('SIGKILL');
    const finish = (answer: ProbeAnswer): void => {
      signal.removeEventListener('abort', stop);
      if (signal.aborted) reject(signal.reason as Error);
      else resolve(answer);
    };
    signal.addEventListener('abort', stop, { once: true });
    child.once('message', (answer) => finish(answer as ProbeAnswer));
    child.once('error', (error) => finish({ usable: false, note: error.message }));
    child.once('exit', (code, ended) => {
      const how = ended === null ? `exit code ${code}` : `signal ${ended}`;
      finish({ usable: false, note: `${provider} ended the process that tried it (${how})` });
    });
  });
}
