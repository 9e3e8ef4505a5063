import { fork } from 'node:child_process';
import { setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { InstallerMessage, InstallerProcess } from '#model-registry/installations';
import { environmentWithoutSecrets } from '#platform/config';

export interface InstallerLaunch {
  home: string;
  /** Tests run the sources. */
  modulePath?: string;
  execArgv?: string[];
  /** Called with what the process wrote on stderr, if it ended by itself. */
  onStderr: (text: string) => void;
}

const builtModule = new URL('../../../cli/src/models/install.child.js', import.meta.url);

/** Lower than that of the workers, whose requests come first. */
const priority = 10;

/** Time to stop after which the process is killed, in ms: a conversion writes its journal meanwhile. */
const stopWithinMs = 3_000;

const maxStderr = 2_000;

/** Secrets that sources of models ask for. */
const secretsOfSources = ['HF_TOKEN', 'PIP_INDEX_URL'];

/**
 * Starts the process of the command line that installs one model. It gets no secret but those of the sources: it opens
 * files that anybody may have made.
 */
export function launchInstaller({ home, modulePath, execArgv = [], onStderr }: InstallerLaunch): InstallerProcess {
  const child = fork(modulePath ?? fileURLToPath(builtModule), {
    env: environmentWithoutSecrets({ SLUICE_HOME: home }, { kept: secretsOfSources }),
    execArgv,
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let stderr = '';
  child.stderr?.on('data', (chunk: Buffer) => (stderr = `${stderr}${chunk.toString()}`.slice(-maxStderr)));
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => {
      if (code !== 0 && stderr !== '') onStderr(stderr);
      // Its last words may still be on their way.
      const finish = (): void => resolve(signal ?? `code ${code}`);
      if (child.connected) child.once('disconnect', finish);
      else finish();
    });
  });
  lowerPriority(child.pid);
  return {
    ended,
    send: (command) => void (child.connected && child.send(command, () => undefined)),
    onMessage: (listener) => void child.on('message', (message) => listener(message as InstallerMessage)),
    stop: async () => {
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), stopWithinMs);
      await ended;
      clearTimeout(timer);
    },
  };
}

/** Some systems do not allow it; the installation then runs like any other process. */
function lowerPriority(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, priority);
  } catch {
    return;
  }
}
