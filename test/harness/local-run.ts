import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { childEnvironment } from '#platform/config';
import { copyTinyDecoder } from './tiny-decoders.js';

export const project = join(import.meta.dirname, '..', '..');
const program = (app: string): string => join(project, 'dist', 'apps', app, 'src', 'main.js');
const ownStores = { DATABASE_URL: null, REDIS_URL: null };

/** Id of the model that `addTinyModel` adds. */
export const tinyModel = 'own-folder';

/** Runs `npm start` without npm. */
export class LocalRun {
  output = '';
  private readonly child: ChildProcess;
  readonly ended: Promise<number | null>;

  constructor(
    readonly home: string,
    private readonly environment: Record<string, string>,
    /** With a channel, as `npm run dev` starts it. */
    { hasChannel = false } = {},
  ) {
    this.child = spawn(process.execPath, [program('local')], {
      env: childEnvironment({ SLUICE_HOME: home, SLUICE_MODELS: 'none', ...ownStores, ...environment }),
      stdio: ['ignore', 'pipe', 'pipe', ...(hasChannel ? ['ipc' as const] : [])],
    });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    }
    this.ended = new Promise((resolve) => this.child.once('exit', resolve));
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  async says(text: string): Promise<void> {
    const untilMs = performance.now() + 240_000;
    while (!this.output.includes(text)) {
      if (performance.now() > untilMs) throw new Error(`The output never contained "${text}":\n${this.output}`);
      await sleep(50);
    }
  }

  /** Runs the command line on the same home, in the same environment; rejects if it fails. */
  sluice(...line: string[]): Promise<{ stdout: string; stderr: string }> {
    const env = childEnvironment({ SLUICE_HOME: this.home, ...ownStores, ...this.environment });
    return promisify(execFile)(process.execPath, [program('cli'), ...line], { env });
  }

  /** Adds a tiny text model, whose files it puts below `folder`; resolves to what the command said. */
  async addTinyModel(folder: string): Promise<{ stdout: string; stderr: string }> {
    const source = join(folder, tinyModel);
    await mkdir(source);
    await copyTinyDecoder('llama', source);
    return this.sluice('models', 'add', source);
  }

  /** Where its api listens, as it says once it is ready. */
  get origin(): string {
    const [, origin = ''] = /Base URL +(http:\S+)\/api\/v1/.exec(this.output) ?? [];
    return origin;
  }

  /** The key that the first start of the home made. */
  async inferenceKey(): Promise<string> {
    const keys = await readFile(join(this.home, 'first-keys.txt'), 'utf8');
    const [, key] = /Inference key\s+(slk_\S+)/.exec(keys) ?? [];
    if (key === undefined) throw new Error(`${this.home} has no inference key`);
    return key;
  }

  /** Sends a message over the channel. */
  send(message: { restart: string[] }): void {
    this.child.send(message);
  }

  /** Closes the channel, as the death of its other end does. */
  loseChannel(): void {
    this.child.disconnect();
  }

  /** Ends the reader of its output, as `npm start | head` does. */
  loseOutput(): void {
    this.child.stdout?.destroy();
    this.child.stderr?.destroy();
  }

  async stop(signal: NodeJS.Signals = 'SIGINT'): Promise<number | null> {
    this.child.kill(signal);
    return this.ended;
  }
}
