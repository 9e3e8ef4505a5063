import { PlatformError } from '#common';
import { TemporaryFolder } from '#platform/files';
import { Sandbox } from '#platform/sandbox';
import { BundledFfmpeg, type MediaProgram } from './bundled-ffmpeg.js';
import { isNewer, type MediaEngine } from './media-engine.js';
import { limitsOf } from './media-limits.js';
import type { MediaTask } from './media-task.js';
import { SystemFfmpeg } from './system-ffmpeg.js';
import { ToolProcess } from './tool-process.js';

export type LostToolCode = 'SERVICE_UNAVAILABLE' | 'DEVICE_LOST';

export interface MediaToolsOptions {
  /**
   * Name on the PATH or path of a system ffmpeg; ffprobe is expected beside it. Default `ffmpeg`, which is preferred to
   * the bundled one if it is a later release. Another name or path is always preferred.
   */
  ffmpeg?: string;
  /** The bundled ffmpeg: its program, or null for none. Default: that of this project. */
  bundled?: MediaProgram | null;
  /**
   * Folder for files in which tools must seek. Created on demand; leftovers of killed processes are removed. Default:
   * that of `TemporaryFolder`. Containers must not share it.
   */
  temporaryFolder?: string;
  /**
   * Error code of a run that was killed from outside, for example for lack of memory. Default `SERVICE_UNAVAILABLE`;
   * workers use `DEVICE_LOST`, so that a job with a second attempt is retried.
   */
  lostToolCode?: LostToolCode;
  /** Limits of the programs. Default: what this machine can limit. */
  sandbox?: Sandbox;
  /** Receives the operator's message if the tools are missing. */
  warn?: (message: string) => void;
}

export interface RunOptions {
  signal?: AbortSignal;
  /** Time limit in ms. */
  timeoutMs: number;
}

const defaultName = 'ffmpeg';
/** How long a look is trusted: shorter while nothing was found, because an operator may be installing it. */
const trustedMs = { found: 60_000, missing: 2_000 };

/** What a look at the machine found. */
interface Look {
  engine: MediaEngine | null;
  /** Message for the operator's log; null if there is an engine. */
  missing: string | null;
  atMs: number;
}

/**
 * The tools that read and write audio and video: the bundled ffmpeg, or one of the machine. What is installed while the
 * process runs is found without a restart.
 */
export class MediaTools {
  private looking: Promise<Look> | null = null;

  private constructor(
    private readonly options: { ffmpeg: string; bundled: MediaProgram | null | undefined },
    private readonly temporary: TemporaryFolder,
    private readonly sandbox: Sandbox,
    private last: Look,
    readonly lostToolCode: LostToolCode,
  ) {}

  static async find(options: MediaToolsOptions = {}): Promise<MediaTools> {
    const { ffmpeg = defaultName, bundled, temporaryFolder, lostToolCode = 'SERVICE_UNAVAILABLE', warn } = options;
    const temporary = new TemporaryFolder(temporaryFolder);
    await temporary.sweep();
    const [first, sandbox] = await Promise.all([look({ ffmpeg, bundled }), options.sandbox ?? Sandbox.find()]);
    if (first.missing !== null) warn?.(first.missing);
    if (sandbox.missing.length > 0) {
      warn?.(`Programs that read foreign files run without ${sandbox.missing.join(', ')}, which this machine refuses.`);
    }
    return new MediaTools({ ffmpeg, bundled }, temporary, sandbox, first, lostToolCode);
  }

  /** By the last look. */
  get available(): boolean {
    return this.last.engine !== null;
  }

  /** Message for the operator's log; null if everything is available. */
  get missing(): string | null {
    return this.last.missing;
  }

  /** The program that runs tasks, for reports: `bundled ffmpeg 8.1`. Null if none does. */
  get description(): string | null {
    const { engine } = this.last;
    return engine === null ? null : `${engine.name} ${engine.version}`;
  }

  /**
   * Rejects with `SERVICE_UNAVAILABLE` if the tools are missing and were not installed meanwhile. Routes may check
   * before they accept a job.
   */
  async require(): Promise<MediaEngine> {
    const { engine } = await this.refresh();
    if (engine !== null) return engine;
    throw new PlatformError('SERVICE_UNAVAILABLE', 'This service has no ffmpeg, which this request needs.', null, {
      retry: 'never',
    });
  }

  /** Starts a process that carries out one task, within the limits of its task. */
  start(engine: MediaEngine, task: MediaTask, { signal, timeoutMs }: RunOptions): ToolProcess {
    const { maxResidentBytes, ...limits } = limitsOf(task, timeoutMs);
    return new ToolProcess({
      ...this.sandbox.command(engine.command(task), limits),
      maxResidentBytes,
      signal,
      timeoutMs,
    });
  }

  /** Looks again if the last look is old, and forgets an engine that is gone. */
  async refresh(): Promise<Look> {
    const { engine, atMs } = this.last;
    const trusted = engine === null ? trustedMs.missing : trustedMs.found;
    if (performance.now() - atMs < trusted) return this.last;
    this.looking ??= look(this.options)
      .then((found) => (this.last = found))
      .finally(() => (this.looking = null));
    // A check of something that works delays no request.
    return engine === null ? await this.looking : this.last;
  }

  /** Makes the next request look again, because the program could not be started. */
  distrust(): void {
    this.last = { ...this.last, engine: null, atMs: Number.NEGATIVE_INFINITY };
  }

  /** Runs `use` with a new folder, which is deleted afterwards, or at the next start if the process was killed. */
  async withFolder<Result>(use: (folder: string) => Promise<Result>): Promise<Result> {
    return await this.temporary.with(use);
  }

  /** Like `withFolder`, for generators: the caller must call `rm`. */
  async makeFolder(): Promise<string> {
    return await this.temporary.make();
  }
}

async function look({ ffmpeg, bundled }: { ffmpeg: string; bundled?: MediaProgram | null }): Promise<Look> {
  const [system, shipped] = await Promise.all([
    found(SystemFfmpeg.find(ffmpeg)),
    bundled === null ? { engine: null, reason: 'none' } : found(BundledFfmpeg.find(bundled)),
  ]);
  const engine = preferred({ system: system.engine, shipped: shipped.engine, isNamed: ffmpeg !== defaultName });
  const missing =
    engine === null
      ? `There is no ffmpeg: ${ffmpeg} cannot be used (${system.reason}), and the bundled one does not run here ` +
        `(${shipped.reason}). Routes that need it answer 503. On Debian and Ubuntu: apt-get install -y ffmpeg`
      : null;
  return { engine, missing, atMs: performance.now() };
}

interface Candidates {
  system: MediaEngine | null;
  shipped: MediaEngine | null;
  /** True if the operator named the system's program. */
  isNamed: boolean;
}

function preferred({ system, shipped, isNamed }: Candidates): MediaEngine | null {
  if (system === null || shipped === null) return system ?? shipped;
  return isNamed || isNewer(system, shipped) ? system : shipped;
}

async function found(looked: Promise<MediaEngine>): Promise<{ engine: MediaEngine | null; reason: string }> {
  try {
    return { engine: await looked, reason: '' };
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    return { engine: null, reason };
  }
}
