import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { toolEnvironment } from '../config/index.js';
import { limitCommands, type ResourceLimits } from './resource-limits.js';

const run = promisify(execFile);
const probeTimeoutMs = 10_000;
/** A system without it has no limits that a program could be started with. */
const shell = '/bin/sh';

/** A program and its arguments. */
export interface Command {
  program: string;
  args: readonly string[];
}

/** Exit codes of a shell that could not start the program: it is no program, or there is none. */
export const notStartedCodes: readonly (number | null)[] = [126, 127];

/** Ways to start a program without a network, the one with fewer rights first. */
const namespaces: readonly (readonly string[])[] = [
  ['--user', '--net', '--'],
  ['--net', '--'],
];

/** Small enough for every machine; the real limits differ in numbers only. */
const probeLimits: ResourceLimits = { memoryBytes: 2 ** 30, cpuSeconds: 60, fileBytes: 2 ** 20, openFiles: 64 };

/**
 * Starts programs that read foreign files within limits of the kernel and without a network, as far as this machine
 * can. A shell sets the limits and then becomes the program, which keeps its process id and its pipes.
 */
export class Sandbox {
  private static found: Promise<Sandbox> | null = null;

  private constructor(
    /** What the shell of this machine can limit. Empty without a shell. */
    private readonly limited: readonly string[],
    /** What starts a program without a network. Empty if nothing here does. */
    private readonly namespace: readonly string[],
  ) {}

  /** Looks once per process at what the machine offers. */
  static async find(): Promise<Sandbox> {
    this.found ??= probe().then(({ limited, namespace }) => new Sandbox(limited, namespace));
    return await this.found;
  }

  /** No limits at all, as on a machine that offers none. */
  static readonly none = new Sandbox([], []);

  get hasNetworkNamespace(): boolean {
    return this.namespace.length > 0;
  }

  /** Protections that this machine does not offer, for the operator's log. */
  get missing(): string[] {
    const limits = Object.keys(limitCommands(probeLimits)).filter((name) => !this.limited.includes(name));
    return [
      ...limits.map((name) => `a limit of ${name}`),
      ...(this.hasNetworkNamespace ? [] : ['a network namespace']),
    ];
  }

  /** The command that starts `program` within `limits`. */
  command({ program, args }: Command, limits: ResourceLimits): Command {
    const [first, ...rest] = [...this.namespace, ...this.limiting(limits), program, ...args];
    return { program: first ?? program, args: rest };
  }

  private limiting(limits: ResourceLimits): string[] {
    if (this.limited.length === 0) return [];
    const commands = Object.entries(limitCommands(limits)).filter(([name]) => this.limited.includes(name));
    const script = [...commands.map(([, command]) => command), 'exec "$@"'].join(' && ');
    return [shell, '-c', script, 'sh'];
  }
}

async function probe(): Promise<{ limited: string[]; namespace: readonly string[] }> {
  const [limited, namespace] = await Promise.all([probeShell(), probeNamespaces()]);
  return { limited, namespace };
}

async function probeShell(): Promise<string[]> {
  const commands = Object.entries(limitCommands(probeLimits));
  const works = await Promise.all(commands.map(([, command]) => succeeds(shell, ['-c', command])));
  return commands.filter((_command, index) => works[index]).map(([name]) => name);
}

async function probeNamespaces(): Promise<readonly string[]> {
  const program = (await output(shell, ['-c', 'command -v unshare']).catch(() => '')).trim();
  if (program === '') return [];
  for (const args of namespaces) {
    // The program itself, because a file system or a profile may refuse it there.
    if (await succeeds(program, [...args, process.execPath, '--version'])) return [program, ...args];
  }
  return [];
}

async function output(program: string, args: readonly string[]): Promise<string> {
  const { stdout } = await run(program, args, { timeout: probeTimeoutMs, env: toolEnvironment() });
  return stdout;
}

async function succeeds(program: string, args: readonly string[]): Promise<boolean> {
  return await output(program, args).then(
    () => true,
    () => false,
  );
}
