import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { PlatformError } from '#common';
import { toolEnvironment } from '#platform/config';
import { TemporaryFolder } from '#platform/files';

const run = promisify(execFile);

export type LostToolCode = 'SERVICE_UNAVAILABLE' | 'DEVICE_LOST';

export interface MediaToolsOptions {
  /** Name on the PATH or path of ffmpeg; ffprobe is expected beside it. Default `ffmpeg`. */
  ffmpeg?: string;
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
  /** Receives the operator's message if the tools are missing. */
  warn?: (message: string) => void;
}

export interface ToolPaths {
  ffmpeg: string;
  ffprobe: string;
}

/**
 * ffmpeg and ffprobe (Debian package `ffmpeg`), looked up once at process start. Without them everything else works,
 * and `missing` tells the operator.
 */
export class MediaTools {
  private constructor(
    private readonly paths: ToolPaths | null,
    private readonly temporary: TemporaryFolder,
    /** Message for the operator's log; null if everything is available. */
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

  /** Throws `SERVICE_UNAVAILABLE` if the tools are missing. Routes may check before they accept a job. */
  require(): ToolPaths {
    if (this.paths !== null) return this.paths;
    throw new PlatformError('SERVICE_UNAVAILABLE', 'This service has no ffmpeg, which this request needs.');
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
