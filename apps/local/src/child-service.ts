import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { MergedLog } from './merged-log.js';
import { RestartDelay } from './restart-delay.js';

export interface ChildServiceOptions {
  /** `api`, `worker` or `ops`; also the folder below `apps/`. */
  name: string;
  environment: NodeJS.ProcessEnv;
  log: MergedLog;
  /** How long a stop may take before the process and its children are killed, in ms. */
  stopWithinMs: number;
}

const parentWatch = new URL('./parent-watch.js', import.meta.url).href;

/** One of our processes: started again with growing pauses when it ends by itself, until it is stopped. */
export class ChildService {
  private child: ChildProcess | undefined;
  private restart: NodeJS.Timeout | undefined;
  private stopping = false;
  private readonly delay = new RestartDelay();

  constructor(private readonly options: ChildServiceOptions) {}

  get name(): string {
    return this.options.name;
  }

  start(): void {
    const { name, environment, log } = this.options;
    const main = fileURLToPath(new URL(`../../${name}/src/main.js`, import.meta.url));
    const child = spawn(process.execPath, ['--enable-source-maps', '--import', parentWatch, main], {
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      // Ctrl-C in a terminal reaches the whole foreground group; ours are stopped in order instead.
      detached: process.platform !== 'win32',
    });
    this.child = child;
    this.delay.started();
    for (const stream of [child.stdout, child.stderr]) {
      if (stream) createInterface({ input: stream }).on('line', (line) => log.child(name, line));
    }
    child.once('error', (error) => log.note(`${name} could not be started: ${error.message}`));
    child.once('exit', (code, signal) => this.onExit(code, signal));
  }

  /** Asks the process to end, and kills it and what it forked when that takes too long. */
  async stop(): Promise<void> {
    this.stopping = true;
    clearTimeout(this.restart);
    const child = this.child;
    if (!child || hasEnded(child)) return;
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    child.kill('SIGTERM');
    const impatience = setTimeout(() => {
      this.options.log.note(`${this.name} did not stop in time and is killed`);
      this.kill();
    }, this.options.stopWithinMs);
    await ended;
    clearTimeout(impatience);
  }

  /** Ends the process and its children at once. */
  kill(): void {
    this.stopping = true;
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

  private onExit(code: number | null, signal: NodeJS.Signals | null): void {
    if (this.stopping) return;
    const pauseMs = this.delay.next();
    const reason = signal ?? `code ${code}`;
    this.options.log.note(`${this.name} ended (${reason}); it starts again in ${(pauseMs / 1_000).toFixed(1)} s`);
    this.restart = setTimeout(() => this.start(), pauseMs);
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
}
