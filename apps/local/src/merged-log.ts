import { createProgressReporter, type ProgressReporter } from '#model-store';
import { readableLine } from './log-line.js';

/** Merges the output of `npm start`: lines of all processes, with progress bars below them while models are pulled. */
export class MergedLog {
  private reporter: ProgressReporter | undefined;
  /** Whether the reader of the stream has ended. */
  private isUnread = false;

  constructor(private readonly stream: NodeJS.WriteStream = process.stdout) {
    // The platform goes on without a console. A full disk may have room for the next line; a reader does not return.
    stream.on('error', (error: NodeJS.ErrnoException) => (this.isUnread ||= error.code === 'EPIPE'));
  }

  /** Whether a person reads this output, and nothing keeps it. */
  get isTerminal(): boolean {
    return this.stream.isTTY;
  }

  /** A line from a child's stdout or stderr. */
  child(source: string, line: string): void {
    if (line.trim() !== '') this.print(readableLine(source, line));
  }

  /** A line of `npm start` itself. */
  note(text: string): void {
    this.print(readableLine('local', text));
  }

  /** Writes text unchanged. */
  print(text: string): void {
    if (this.isUnread) return;
    if (this.reporter) this.reporter.note(text);
    else this.stream.write(`${text}\n`);
  }

  /** Creates a reporter of pulls. From the first progress until it is closed, lines appear above its bars. */
  progress(): ProgressReporter {
    const reporter = createProgressReporter({ stream: this.stream, lines: 'sparse' });
    return {
      update: (progress) => {
        if (this.isUnread) return;
        this.reporter ??= reporter;
        reporter.update(progress);
      },
      coming: (models) => reporter.coming?.(models),
      note: (text) => this.note(text),
      close: () => {
        reporter.close();
        this.reporter = undefined;
      },
    };
  }
}
