import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { PlatformError } from '#common';
import { toolEnvironment } from '#platform/config';
import { TemporaryFolder } from '#platform/files';

const run = promisify(execFile);

export type LostToolCode = 'SERVICE_UNAVAILABLE' | 'DEVICE_LOST';

export interface MediaToolsOptions {
  /** Name on the PATH or path of ffmpeg; ffprobe is looked for beside it. Default `ffmpeg`. */
  ffmpeg?: string;
  /**
   * Folder for files that tools must seek in; made when needed, emptied of what killed processes left. Default: that of
   * `TemporaryFolder`. Containers must not share it.
   */
  temporaryFolder?: string;
  /**
   * What a run is that somebody else ended, as a system without memory does. Default `SERVICE_UNAVAILABLE`; workers say
   * `DEVICE_LOST`, so that a job with a second attempt runs once more.
   */
  lostToolCode?: LostToolCode;
  /** Hears, for operators, that the tools are missing. */
  warn?: (message: string) => void;
}

export interface ToolPaths {
  ffmpeg: string;
  ffprobe: string;
}

/**
 * The programs of Debian's package `ffmpeg`, looked up once when a process starts. Where they are missing everything
 * else works on, and `missing` says what the operator should know.
 */
export class MediaTools {
  private constructor(
    private readonly paths: ToolPaths | null,
    private readonly temporary: TemporaryFolder,
    /** For the log of operators; null when all is there. */
    readonly missing: string | null,
    readonly lostToolCode: LostToolCode,
  ) {}

  static async find(options: MediaToolsOptions = {}): Promise<MediaTools> {
    const { ffmpeg = 'ffmpeg', temporaryFolder, lostToolCode = 'SERVICE_UNAVAILABLE', warn } = options;
    const ffprobe = ffmpeg.replace(/ffmpeg([^/]*)$/, 'ffprobe$1');
    const temporary = new TemporaryFolder(temporaryFolder);
    await temporary.sweep();
    try {
      await Promise.all(
        [ffmpeg, ffprobe].map((tool) => run(tool, ['-version'], { timeout: 20_000, env: toolEnvironment() })),
      );
      return new MediaTools({ ffmpeg, ffprobe }, temporary, null, lostToolCode);
    } catch (error) {
      const reason = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
      const missing =
        `${ffmpeg} and ${ffprobe} cannot be used (${reason}). Routes that need them answer 503. ` +
        'On Debian and Ubuntu: apt-get install -y ffmpeg';
      warn?.(missing);
      return new MediaTools(null, temporary, missing, lostToolCode);
    }
  }

  get available(): boolean {
    return this.paths !== null;
  }

  /** Throws `SERVICE_UNAVAILABLE` where they are missing. Routes may ask before they take a job in. */
  require(): ToolPaths {
    if (this.paths !== null) return this.paths;
    throw new PlatformError('SERVICE_UNAVAILABLE', 'This service has no ffmpeg, which this request needs.');
  }

  /** Runs `use` with a new folder, which is deleted afterwards, or at the next start when the process was killed. */
  async withFolder<Result>(use: (folder: string) => Promise<Result>): Promise<Result> {
    return await this.temporary.with(use);
  }

  /** As `withFolder`, for generators: whoever asks must `rm` it. */
  async makeFolder(): Promise<string> {
    return await this.temporary.make();
  }
}
