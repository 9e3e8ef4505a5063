import 'reflect-metadata';
import { PlatformError } from '#common';
import { errorText } from '#common/values';
import type { InstallerCommand, InstallerMessage } from '#model-registry/installations';
import { CliConfig, loadConfig } from '#platform/config';

/* Runs in a process of its own below ops, without a database: it opens files that others made. */

const stop = new AbortController();
const abort = (): void => stop.abort(new Error('The installation was interrupted.'));
process.once('SIGTERM', abort);
// Whoever takes the installation over must not find this process at work.
process.once('disconnect', () => {
  abort();
  setTimeout(() => process.exit(1), 2_000).unref();
});

const config = loadConfig(CliConfig);
const { CliContext } = await import('../cli-context.js');
const { installJob } = await import('./install-job.js');

/** Resolves when the message has been handed over, or the other end is gone. */
function send(message: InstallerMessage): Promise<void> {
  return new Promise((resolve) => {
    if (!process.connected) resolve();
    else process.send?.(message, () => resolve());
  });
}

function untilConfirmed(): Promise<void> {
  return new Promise((resolve, reject) => {
    process.once('message', () => resolve());
    stop.signal.addEventListener('abort', () => reject(stop.signal.reason as Error), { once: true });
  });
}

async function install(command: Extract<InstallerCommand, { type: 'install' }>): Promise<InstallerMessage> {
  const context = new CliContext(config, { signal: stop.signal });
  try {
    const manifest = await installJob(context, command.job, {
      described: async (model) => {
        const confirmed = untilConfirmed();
        await send({ type: 'described', ...model });
        await confirmed;
      },
      progress: (progress) => void send({ type: 'progress', progress }),
    });
    return { type: 'installed', manifest };
  } catch (error) {
    const code = error instanceof PlatformError ? error.code : 'MODEL_PULL_FAILED';
    return { type: 'failed', code, message: errorText(error) };
  }
}

process.once('message', (command: InstallerCommand) => {
  if (command.type !== 'install') return;
  void install(command)
    .then(send)
    .then(() => process.exit(0));
});
