import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { project } from '#test/local-run';
import type { Language } from './page-commands.js';

const withinMs = 240_000;
const programs: Record<Language, string> = { sh: '', js: 'node --input-type=module -', python: 'python3 -' };

/** A folder with a clone and a home, and a shell in it whose variables stay from command to command. */
export class Machine {
  readonly clone: string;
  output = '';
  private server: ChildProcess | null = null;
  private readonly variables: string;

  private constructor(
    private readonly folder: string,
    private readonly environment: Record<string, string>,
  ) {
    this.clone = join(folder, 'sluice');
    this.variables = join(folder, 'variables.sh');
  }

  /** The clone has the packages and the compiled code of this one: its entries are links. */
  static async create(folder: string, environment: Record<string, string>): Promise<Machine> {
    const machine = new Machine(folder, environment);
    await mkdir(machine.clone, { recursive: true });
    const entries = (await readdir(project)).filter((name) => name !== '.git');
    await Promise.all(entries.map((name) => symlink(join(project, name), join(machine.clone, name))));
    return machine;
  }

  /** Runs code to its end; resolves to what it printed, and rejects if it failed. */
  async run(language: Language, code: string): Promise<string> {
    const isShell = language === 'sh';
    const script = `${this.restored}\n${isShell ? `${code}\nexport -p > "$VARIABLES"` : `exec ${programs[language]}`}`;
    const child = this.spawn(script, { stdin: isShell ? '' : code });
    let printed = '';
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text: Buffer) => (printed += String(text)));
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    const status = await ended;
    if (status !== 0) throw new Error(`This ended with ${status}:\n${code}\n${printed}\n${this.output}`);
    return printed;
  }

  /** Starts code that does not end. Whatever it started before is stopped first, as by Ctrl-C. */
  async serve(code: string, isReady: () => Promise<boolean>): Promise<void> {
    await this.stop();
    this.output = '';
    const child = this.spawn(`${this.restored}\n${code}`, { stdin: '' });
    this.server = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (text: Buffer) => (this.output += String(text)));
    }
    const untilMs = performance.now() + withinMs;
    while (!(await isReady().catch(() => false))) {
      if (child.exitCode !== null) throw new Error(`This ended with ${child.exitCode}:\n${code}\n${this.output}`);
      if (performance.now() > untilMs) throw new Error(`This is not ready:\n${code}\n${this.output}`);
      await sleep(100);
    }
  }

  /** Presses Ctrl-C: the signal reaches npm and what it runs. */
  async stop(): Promise<void> {
    const { server } = this;
    this.server = null;
    if (server?.pid === undefined || server.exitCode !== null) return;
    const ended = new Promise((resolve) => server.once('close', resolve));
    process.kill(-server.pid, 'SIGINT');
    await ended;
  }

  /** Copies the files that commands wrote here into the clone of another machine. */
  async copyFilesTo(other: Machine): Promise<void> {
    const written = (await readdir(this.clone, { withFileTypes: true })).filter((entry) => entry.isFile());
    await Promise.all(written.map(({ name }) => copyFile(join(this.clone, name), join(other.clone, name))));
  }

  async remove(): Promise<void> {
    await this.stop();
    await rm(this.folder, { recursive: true, force: true });
  }

  private get restored(): string {
    return existsSync(this.variables) ? '. "$VARIABLES"' : '';
  }

  private spawn(script: string, { stdin }: { stdin: string }): ChildProcess {
    const child = spawn('bash', ['--norc', '-euo', 'pipefail', '-c', script], {
      cwd: this.clone,
      // A process group, as a terminal makes one for each command.
      detached: true,
      env: {
        PATH: process.env.PATH,
        HOME: this.folder,
        VARIABLES: this.variables,
        npm_config_update_notifier: 'false',
        ...this.environment,
      },
    });
    child.stdin.end(stdin);
    return child;
  }
}
