import { createProgressReporter, type ProgressReporter } from '#model-store';
import { readableLine } from './log-line.js';

/** Merges the output of `npm start`: lines of all processes, with progress bars below them while models are pulled. */
export class MergedLog {
  private reporter: ProgressReporter | undefined;

  constructor(private readonly stream: NodeJS.WriteStream = process.stdout) {}

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
    if (this.reporter) this.reporter.note(text);
    else this.stream.write(`${text}\n`);
  }

  /** Creates a reporter of pulls. From the first progress until it is closed, lines appear above its bars. */
  progress(): ProgressReporter {
    const reporter = createProgressReporter({ stream: this.stream, lines: 'sparse' });
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
