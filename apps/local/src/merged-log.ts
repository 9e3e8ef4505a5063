import { createProgressReporter, type ProgressReporter } from '#model-store';
import { readableLine } from './log-line.js';

/** Everything `npm start` prints: lines of all processes, and bars below them while models are pulled. */
export class MergedLog {
  private reporter: ProgressReporter | undefined;

  constructor(private readonly stream: NodeJS.WriteStream = process.stdout) {}

  /** A line of a process, as it came out of its stdout or stderr. */
  child(source: string, line: string): void {
    if (line.trim() !== '') this.print(readableLine(source, line));
  }

  /** Our own news. */
  note(text: string): void {
    this.print(readableLine('local', text));
  }

  /** Text as it is. */
  print(text: string): void {
    if (this.reporter) this.reporter.note(text);
    else this.stream.write(`${text}\n`);
  }

  /** A reporter of pulls; from its first progress to its close, lines go above its bars. */
  progress(): ProgressReporter {
    const reporter = createProgressReporter({ stream: this.stream });
    return {
      update: (progress) => {
        this.reporter ??= reporter;
        reporter.update(progress);
      },
      note: (text) => this.note(text),
      close: () => {
        reporter.close();
        this.reporter = undefined;
      },
    };
  }
}
