import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isProcessAlive, PlatformError } from '#common';
import { toolEnvironment } from '#platform/config';

const run = promisify(execFile);

export type LostToolCode = 'SERVICE_UNAVAILABLE' | 'DEVICE_LOST';

export interface MediaToolsOptions {
  /** Name on the PATH or path of ffmpeg; ffprobe is looked for beside it. Default `ffmpeg`. */
  ffmpeg?: string;
  /**
   * Folder for files that tools must seek in; made when needed, emptied of what dead processes of this machine left.
   * Default: one of this user's in the system's folder for such files. Containers must not share it.
   */
  temporaryFolder?: string;
  /**
   * What a run is that somebody else ended, as a system without memory does. Default `SERVICE_UNAVAILABLE`; workers say
   * `DEVICE_LOST`, so that the job runs once more.
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
  private folderMade: Promise<string> | null = null;

  private constructor(
    private readonly paths: ToolPaths | null,
    private readonly temporaryFolder: string,
    /** For the log of operators; null when all is there. */
    readonly missing: string | null,
    readonly lostToolCode: LostToolCode,
  ) {}

  static async find(options: MediaToolsOptions = {}): Promise<MediaTools> {
    const { ffmpeg = 'ffmpeg', temporaryFolder = ownFolder(), lostToolCode = 'SERVICE_UNAVAILABLE', warn } = options;
    const ffprobe = ffmpeg.replace(/ffmpeg([^/]*)$/, 'ffprobe$1');
    await sweepTemporary(temporaryFolder);
    try {
      await Promise.all(
        [ffmpeg, ffprobe].map((tool) => run(tool, ['-version'], { timeout: 20_000, env: toolEnvironment() })),
      );
      return new MediaTools({ ffmpeg, ffprobe }, temporaryFolder, null, lostToolCode);
    } catch (error) {
      const reason = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
      const missing =
        `${ffmpeg} and ${ffprobe} cannot be used (${reason}). Routes that need them answer 503. ` +
        'On Debian and Ubuntu: apt-get install -y ffmpeg';
      warn?.(missing);
      return new MediaTools(null, temporaryFolder, missing, lostToolCode);
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
    const folder = await this.makeFolder();
    try {
      return await use(folder);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** As `withFolder`, for generators: whoever asks must `rm` it. */
  async makeFolder(): Promise<string> {
    this.folderMade ??= mkdir(this.temporaryFolder, { recursive: true, mode: 0o700 }).then(() => this.temporaryFolder);
    return await mkdtemp(join(await this.folderMade, `${process.pid}-`));
  }
}

function ownFolder(): string {
  return join(tmpdir(), `sluice-media-${userInfo().uid}`);
}

async function sweepTemporary(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    const [, owner] = /^(\d+)-/.exec(name) ?? [];
    if (owner === undefined || isProcessAlive(Number(owner))) continue;
    await rm(join(folder, name), { recursive: true, force: true });
  }
}
