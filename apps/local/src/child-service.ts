import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { MergedLog } from './merged-log.js';
import { RestartDelay } from './restart-delay.js';

export interface ChildServiceOptions {
  /** `api`, `worker` or `ops`; also the folder under `apps/`. */
  name: string;
  environment: NodeJS.ProcessEnv;
  log: MergedLog;
  /** How long a stop may take before the process and its children are killed, in ms. */
  stopWithinMs: number;
  /** Spawns the process; may throw. Tests replace it. */
  launch?: () => ChildProcess;
}

const parentWatch = new URL('./parent-watch.js', import.meta.url).href;

/** A child process of `npm start`. Restarts it with growing delays when it exits, until it is stopped. */
export class ChildService {
  private child: ChildProcess | undefined;
  private restart: NodeJS.Timeout | undefined;
  private stopping = false;
  private restarting: Promise<void> | undefined;
  private readonly delay = new RestartDelay();

  constructor(private readonly options: ChildServiceOptions) {}

  get name(): string {
    return this.options.name;
  }

  /** Never throws: a failed spawn is retried after a delay. */
  start(): void {
    const { name, log, launch = () => spawnService(this.options) } = this.options;
    this.delay.started();
    try {
      this.child = launch();
    } catch (error) {
      this.child = undefined;
      return this.startAgain(`could not be started: ${(error as Error).message}`);
    }
    const { child } = this;
    for (const stream of [child.stdout, child.stderr]) {
      if (stream) createInterface({ input: stream }).on('line', (line) => log.child(name, line));
    }
    child.on('error', (error) => {
      // A process that was never spawned does not exit. A later channel error is followed by an exit.
      if (child.pid === undefined) this.startAgain(`could not be started: ${error.message}`);
      else log.note(`${name}: ${error.message}`);
    });
    child.once('exit', (code, signal) => this.startAgain(`ended (${signal ?? `code ${code}`})`));
  }

  /** Asks the process to end; kills it and its children after the timeout. */
  async stop(): Promise<void> {
    this.stopping = true;
    await this.end();
  }

  /** Ends the process as `stop` does, then starts it at once. While that is going on, another call only waits for it. */
  async startAnew(): Promise<void> {
    this.restarting ??= this.end().then(() => {
      this.restarting = undefined;
      if (!this.stopping) this.start();
    });
    await this.restarting;
  }

  /** Kills the process and its children at once. */
  kill(): void {
    this.stopping = true;
    this.killGroup();
  }

  private async end(): Promise<void> {
    clearTimeout(this.restart);
    const child = this.child;
    if (!child || hasEnded(child)) return;
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    child.kill('SIGTERM');
    const killTimer = setTimeout(() => {
      this.options.log.note(`${this.name} did not stop in time and was killed`);
      this.killGroup();
    }, this.options.stopWithinMs);
    await ended;
    clearTimeout(killTimer);
  }

  private killGroup(): void {
    clearTimeout(this.restart);
    const pid = this.child?.pid;
    if (pid === undefined || !this.child || hasEnded(this.child)) return;
    try {
      process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
    } catch (error) {
      // The group may have ended between the check and the signal.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }

  private startAgain(reason: string): void {
    if (this.stopping || this.restarting !== undefined) return;
    const pauseMs = this.delay.next();
    this.options.log.note(`${this.name} ${reason}; it starts again in ${(pauseMs / 1_000).toFixed(1)} s`);
    this.restart = setTimeout(() => this.start(), pauseMs);
  }
}

function spawnService({ name, environment }: ChildServiceOptions): ChildProcess {
  const main = fileURLToPath(new URL(`../../${name}/src/main.js`, import.meta.url));
  return spawn(process.execPath, ['--enable-source-maps', '--import', parentWatch, main], {
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    // Ctrl-C reaches the whole foreground process group; detached children are stopped in order instead.
    detached: process.platform !== 'win32',
  });
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
}
