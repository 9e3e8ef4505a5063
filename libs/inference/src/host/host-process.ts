import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { HostLoadOptions } from '../contract/engine-loader.js';
import type { HostCommand, HostMessage } from './host-protocol.js';

/** A running model host, from its supervisor's side. */
export interface HostProcess {
  readonly pid: number | undefined;
  send(command: HostCommand): void;
  onMessage(listener: (message: HostMessage) => void): void;
  /** Called once; `reason` describes how it ended. */
  onExit(listener: (reason: string) => void): void;
  /** Sends SIGKILL, which frees the device within milliseconds even during a run. */
  kill(): void;
}

/** Starts the process of a host that will be told to load this. */
export type HostLauncher = (load: HostLoadOptions) => HostProcess;

export interface ForkOptions {
  /** Entry file of the child; defaults to this library's host. */
  modulePath?: string;
  /** Node options of the child; default those of this process. */
  execArgv?: string[];
  /** Environment of the child, by what it loads; default that of this process. */
  env?: (load: HostLoadOptions) => NodeJS.ProcessEnv;
}

const defaultModule = fileURLToPath(new URL('./model-host.main.js', import.meta.url));

/** Forks a host. The channel uses structured clone; the child logs to this process's output. */
export function forkHost({ modulePath = defaultModule, execArgv, env }: ForkOptions = {}): HostLauncher {
  return (load) => {
    const child = fork(modulePath, [], {
      serialization: 'advanced',
      execArgv,
      env: env?.(load),
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    return new ForkedHost(child);
  };
}

class ForkedHost implements HostProcess {
  readonly pid: number | undefined;

  constructor(private readonly child: ChildProcess) {
    this.pid = child.pid;
  }

  send(command: HostCommand): void {
    // `exit` also reports a broken channel, so its error event is ignored.
    if (this.child.connected) this.child.send(command, () => undefined);
  }

  onMessage(listener: (message: HostMessage) => void): void {
    this.child.on('message', (message) => listener(message as HostMessage));
  }

  onExit(listener: (reason: string) => void): void {
    let reported = false;
    const tell = (reason: string) => {
      if (!reported) listener(reason);
      reported = true;
    };
    this.child.once('error', (error) => tell(error.message));
    this.child.once('exit', (code, signal) => tell(signal === null ? `exit code ${code}` : `signal ${signal}`));
  }

  kill(): void {
    this.child.kill('SIGKILL');
  }
}
