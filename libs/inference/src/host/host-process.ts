import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { HostCommand, HostMessage } from './host-protocol.js';

/** A running model host as its supervisor sees it. */
export interface HostProcess {
  readonly pid: number | undefined;
  send(command: HostCommand): void;
  onMessage(listener: (message: HostMessage) => void): void;
  /** Called once; `reason` says in words how it ended. */
  onExit(listener: (reason: string) => void): void;
  /** SIGKILL: clean for the device within milliseconds, also while a run is under way. */
  kill(): void;
}

export type HostLauncher = () => HostProcess;

export interface ForkOptions {
  /** Entry file of the child; default the host of this library. */
  modulePath?: string;
  /** Options of node for the child; default those of this process. */
  execArgv?: string[];
  /** Environment of the child; default that of this process. */
  env?: NodeJS.ProcessEnv;
}

const defaultModule = fileURLToPath(new URL('./model-host.main.js', import.meta.url));

/** Forks a host. Structured clone on the channel, its own log lines on ours. */
export function forkHost({ modulePath = defaultModule, execArgv, env }: ForkOptions = {}): HostLauncher {
  return () => {
    const child = fork(modulePath, [], {
      serialization: 'advanced',
      execArgv,
      env,
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
    // A channel that broke between two messages is reported by `exit`; its error event is the same news.
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
