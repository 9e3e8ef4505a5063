import { readFile, stat } from 'node:fs/promises';
import { errorText } from '#common/values';

/** Minimum time between two looks at a file, in ms. An unused file is not looked at. */
const intervalMs = 1_000;

export interface WatchedFileOptions<Content> {
  path: string;
  /** Throws an error that says what is wrong with the text. */
  parse: (text: string) => Content;
  /** Called when a changed file cannot be used; the content before stays in effect. */
  onProblem: (error: unknown) => void;
  /** Monotonic, in ms; replaced by tests. */
  nowMs?: () => number;
}

/**
 * The parsed content of a file that an operator edits while the process runs. It is compared by time, size and inode
 * instead of by notifications, which mounted configuration does not send.
 */
export class WatchedFile<Content> {
  private lookedAtMs: number;
  private looking: Promise<void> | null = null;

  private constructor(
    private readonly options: WatchedFileOptions<Content>,
    private content: Content,
    private version: string,
  ) {
    this.lookedAtMs = this.nowMs();
  }

  /** Reads the file. Rejects, naming the file, if it cannot be read or used. */
  static async open<Content>(options: WatchedFileOptions<Content>): Promise<WatchedFile<Content>> {
    const { content, version } = await load(options);
    return new WatchedFile(options, content, version);
  }

  /** Returns the content, after reading a file that has changed. Never rejects. */
  async current(): Promise<Content> {
    if (this.nowMs() - this.lookedAtMs >= intervalMs) {
      this.looking ??= this.look().finally(() => (this.looking = null));
      await this.looking;
    }
    return this.content;
  }

  private async look(): Promise<void> {
    try {
      const seen = await versionOf(this.options.path);
      if (seen === this.version) return;
      // A file that cannot be used is reported once, not every second.
      this.version = seen;
      this.content = (await load(this.options)).content;
    } catch (error) {
      this.options.onProblem(error);
    } finally {
      this.lookedAtMs = this.nowMs();
    }
  }

  private nowMs(): number {
    return (this.options.nowMs ?? (() => performance.now()))();
  }
}

async function load<Content>({ path, parse }: WatchedFileOptions<Content>) {
  try {
    const version = await versionOf(path);
    return { content: parse(await readFile(path, 'utf8')), version };
  } catch (error) {
    throw new Error(`${path}: ${errorText(error)}`, { cause: error });
  }
}

async function versionOf(path: string): Promise<string> {
  const { mtimeMs, size, ino } = await stat(path);
  return `${mtimeMs} ${size} ${ino}`;
}
