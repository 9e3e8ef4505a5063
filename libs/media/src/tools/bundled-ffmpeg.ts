import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { toolEnvironment } from '#platform/config';
import type { Command } from '#platform/sandbox';
import type { MediaEngine } from './media-engine.js';
import type { MediaTask } from './media-task.js';

const run = promisify(execFile);
const lookTimeoutMs = 20_000;
/** Memory of JavaScript objects in MB; frames are outside. */
const heapMegabytes = 128;

/** What Node runs as media program. */
export interface MediaProgram {
  modulePath: string;
  nodeArguments: readonly string[];
}

/** The libraries of FFmpeg that a package of this project contains, in a program of ours. */
export class BundledFfmpeg implements MediaEngine {
  readonly name = 'bundled ffmpeg';

  private constructor(
    private readonly args: readonly string[],
    readonly version: string,
  ) {}

  /** Rejects where no package fits the machine. */
  static async find({ modulePath, nodeArguments }: MediaProgram = ownProgram()): Promise<BundledFfmpeg> {
    const args = [`--max-old-space-size=${heapMegabytes}`, '--no-warnings', ...nodeArguments, modulePath];
    const options = { timeout: lookTimeoutMs, env: toolEnvironment() };
    const { stdout } = await run(process.execPath, [...args, '-version'], options);
    return new BundledFfmpeg(args, /version (\d+\.\d+)/.exec(stdout)?.[1] ?? 'unknown');
  }

  command(task: MediaTask): Command {
    return { program: process.execPath, args: [...this.args, JSON.stringify(task)] };
  }
}

/** The program beside this file. Sources need the options of this process, which can run sources. */
function ownProgram(): MediaProgram {
  const isSource = import.meta.url.endsWith('.ts');
  const modulePath = fileURLToPath(new URL(`../bundled/media-program.main.${isSource ? 'ts' : 'js'}`, import.meta.url));
  return {
    modulePath,
    nodeArguments: isSource ? process.execArgv.filter((option) => !/^--(inspect|expose)/.test(option)) : [],
  };
}
