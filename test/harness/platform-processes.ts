import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { endProcess } from './end-process.js';
import type { PlatformOptions, PlatformProcess, PlatformRole } from './platform-options.js';
import type { Site } from './site.js';

/** The harness runs from source in tests and compiled in benches. */
const isCompiled = import.meta.url.includes('/dist/test/harness/');
export const distFolder = fileURLToPath(new URL(isCompiled ? '../../' : '../../dist/', import.meta.url));

const entries: Record<PlatformRole, Record<'deterministic' | 'text', string>> = {
  api: { deterministic: 'apps/api/src/main.js', text: 'apps/api/src/main.js' },
  worker: { deterministic: 'test/harness/worker-main.js', text: 'apps/worker/src/main.js' },
  ops: { deterministic: 'apps/ops/src/main.js', text: 'apps/ops/src/main.js' },
};

export function roleOf(name: PlatformProcess): PlatformRole {
  return name.split('-')[0] as PlatformRole;
}

/** The real processes of a platform: which ones are running, and all their output. */
export class PlatformProcesses {
  private readonly children = new Map<PlatformProcess, ChildProcess>();
  private readonly healthPorts = new Map<PlatformProcess, number>();
  private readonly lines: string[] = [];

  constructor(private readonly options: Pick<PlatformOptions, 'engine' | 'onLog'> & { site: Site }) {}

  /** `dist`: a folder of other compiled code. */
  start(name: PlatformProcess, env: Record<string, string>, dist = distFolder): void {
    const entry = join(dist, entries[roleOf(name)][this.options.engine ?? 'deterministic']);
    const [command = '', ...args] = this.options.site.command(name, [process.execPath, entry]);
    const child = spawn(command, args, {
      env: { PATH: process.env.PATH ?? '', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.children.set(name, child);
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        const [, port] = /serves health and metrics on port (\d+)/.exec(text) ?? [];
        if (port !== undefined) this.healthPorts.set(name, Number(port));
        this.note(`${name}: ${text}`);
      });
    }
    child.once('exit', (code, signal) => this.note(`${name} ended with ${String(code ?? signal)}`));
  }

  /** Whether it was started and not killed since. */
  has(name: PlatformProcess): boolean {
    return this.children.has(name);
  }

  pid(name: PlatformProcess): number {
    const pid = this.children.get(name)?.pid;
    if (pid === undefined) throw new Error(`the ${name} is not running`);
    return pid;
  }

  /** Current pid of a model host, as logged by the worker. */
  hostPid(modelId: string): number {
    const loaded = [...this.lines.join('').matchAll(/"model":"([^"]+)","pid":(\d+)/g)].filter(
      ([, id]) => id === modelId,
    );
    const pid = Number(loaded.at(-1)?.[2]);
    if (!pid) throw new Error(`no host of ${modelId} was logged`);
    return pid;
  }

  /** Health and metrics URL, as logged. */
  healthPort(name: PlatformProcess): number | undefined {
    return this.healthPorts.get(name);
  }

  signal(name: PlatformProcess, signal: NodeJS.Signals): void {
    process.kill(this.pid(name), signal);
  }

  async kill(name: PlatformProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<{ code: number | null }> {
    const child = this.children.get(name);
    this.children.delete(name);
    return { code: await endProcess(child, signal) };
  }

  async killAll(): Promise<void> {
    await Promise.all([...this.children.keys()].map((name) => this.kill(name)));
  }

  /** A process that exited by itself; null: none did. */
  ended(): PlatformProcess | null {
    return [...this.children].find(([, child]) => child.exitCode !== null)?.[0] ?? null;
  }

  /** The end of their output, for a failing test. */
  log(): string {
    return this.lines.slice(-300).join('');
  }

  private note(text: string): void {
    this.options.onLog?.(text);
    this.lines.push(text);
    if (this.lines.length > 2_000) this.lines.splice(0, 1_000);
  }
}
