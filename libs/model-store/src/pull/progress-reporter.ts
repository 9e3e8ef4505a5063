import { MultiBar, Presets, type SingleBar } from 'cli-progress';
import type { ProgressReporter, PullProgress } from './progress.js';

export interface ProgressReporterOptions {
  /** Output stream; a terminal gets bars. Default stderr, so that `--json` on stdout stays clean. */
  stream?: NodeJS.WriteStream;
  /**
   * What is written where the stream is no terminal: a line every 10 % of a file, or none but the notes, which name each
   * model once. Default `progress`.
   */
  lines?: 'progress' | 'notes';
  /** Monotonic clock in milliseconds; for tests. */
  now?: () => number;
}

/**
 * A terminal shows bars with bytes, rate and time left; elsewhere a line is written every 10 % or 5 s, at most one in 2
 * s, or only the notes.
 */
export function createProgressReporter(options: ProgressReporterOptions = {}): ProgressReporter {
  const stream = options.stream ?? process.stderr;
  const now = options.now ?? (() => performance.now());
  if (stream.isTTY) return new BarReporter(stream, now);
  return options.lines === 'notes' ? new NoteReporter(stream) : new LineReporter(stream, now);
}

const stageText = { download: 'downloading', verify: 'verifying', convert: 'converting' };

/** Rate of one line since its first update, and the remaining time at that rate. */
class Pace {
  private readonly startMs: number;
  private readonly startDone: number;

  constructor(first: PullProgress, nowMs: number) {
    this.startMs = nowMs;
    // Bytes of an earlier run do not count into the rate.
    this.startDone = first.done;
  }

  describe({ done, total }: PullProgress, nowMs: number): { rate: string; left: string } {
    const seconds = (nowMs - this.startMs) / 1_000;
    const perSecond = seconds > 0 ? (done - this.startDone) / seconds : 0;
    if (perSecond <= 0) return { rate: '–', left: '–' };
    const left = total === null ? '–' : formatSeconds((total - done) / perSecond);
    return { rate: `${formatBytes(perSecond)}/s`, left };
  }
}

interface BarLine {
  bar: SingleBar;
  pace: Pace;
  startMs: number;
}

class BarReporter implements ProgressReporter {
  private readonly bars: MultiBar;
  private readonly lines = new Map<string, BarLine>();
  private readonly ended = new Set<string>();

  constructor(
    private readonly stream: NodeJS.WriteStream,
    private readonly now: () => number,
  ) {
    this.bars = new MultiBar(
      {
        stream,
        format: '{label} {bar} {percentage}% {amount} {rate} {left} left',
        hideCursor: true,
        clearOnComplete: false,
        fps: 8,
        // Lines are not wrapped: on a narrow terminal the figures matter more than the bar.
        barsize: (stream.columns ?? 80) < 110 ? 10 : 24,
        autopadding: true,
        noTTYOutput: false,
        gracefulExit: false,
      },
      Presets.shades_classic,
    );
  }

  update(progress: PullProgress): void {
    const key = `${progress.modelId}\n${progress.file}\n${progress.stage}`;
    if (this.ended.has(key)) return;
    const nowMs = this.now();
    const line = this.lines.get(key) ?? this.open(key, progress, nowMs);
    if (progress.total !== null) line.bar.setTotal(progress.total);
    line.bar.update(progress.done, { ...payload(progress), ...line.pace.describe(progress, nowMs) });
    if (progress.done === progress.total) this.end(key, progress, line);
  }

  private open(key: string, progress: PullProgress, nowMs: number): BarLine {
    const bar = this.bars.create(progress.total ?? 0, 0, payload(progress));
    const line = { bar, pace: new Pace(progress, nowMs), startMs: nowMs };
    this.lines.set(key, line);
    return line;
  }

  /** Replaces a finished bar by a line, so that active bars stay on the screen however many files a model has. */
  private end(key: string, progress: PullProgress, line: BarLine): void {
    this.ended.add(key);
    this.lines.delete(key);
    this.bars.remove(line.bar);
    const seconds = formatSeconds((this.now() - line.startMs) / 1_000);
    this.note(`${labelOf(progress)}: ${formatBytes(progress.done)} in ${seconds}`);
  }

  note(text: string): void {
    if (!this.bars.isActive) {
      this.stream.write(`${text}\n`);
      return;
    }
    this.bars.log(`${text}\n`);
    this.bars.update();
  }

  close(): void {
    if (this.bars.isActive) this.bars.stop();
  }
}

function payload(progress: PullProgress): Record<string, string> {
  return { label: labelOf(progress), amount: amountOf(progress), rate: '–', left: '–' };
}

interface PlainLine {
  pace: Pace;
  shownPercent: number;
  shownMs: number;
  isOver: boolean;
}

/** Minimum interval between lines of one file. */
const lineGapMs = 2_000;

class LineReporter implements ProgressReporter {
  private readonly lines = new Map<string, PlainLine>();

  constructor(
    private readonly stream: NodeJS.WritableStream,
    private readonly now: () => number,
  ) {}

  update(progress: PullProgress): void {
    const key = `${progress.modelId}\n${progress.file}\n${progress.stage}`;
    const nowMs = this.now();
    const line = this.lines.get(key) ?? this.open(key, progress, nowMs);
    if (line.isOver) return;
    line.isOver = progress.done === progress.total;
    const percent = progress.total ? Math.floor((progress.done / progress.total) * 100) : 0;
    // Most files are verified immediately.
    if (line.isOver ? progress.stage === 'verify' && line.shownPercent < 0 : !isDue(line, percent, nowMs)) return;
    Object.assign(line, { shownPercent: percent, shownMs: nowMs });
    const { rate, left } = line.pace.describe(progress, nowMs);
    const pace = rate === '–' ? '' : ` ${rate}${line.isOver ? '' : `, ${left} left`}`;
    this.note(`${labelOf(progress)} ${percent}% ${amountOf(progress)}${pace}`);
  }

  private open(key: string, progress: PullProgress, nowMs: number): PlainLine {
    const shownMs = progress.stage === 'verify' ? nowMs : Number.NEGATIVE_INFINITY;
    const line = { pace: new Pace(progress, nowMs), shownPercent: -10, shownMs, isOver: false };
    this.lines.set(key, line);
    return line;
  }

  note(text: string): void {
    this.stream.write(`${text}\n`);
  }

  close(): void {
    this.lines.clear();
  }
}

/** For logs that are kept: progress is not news. */
class NoteReporter implements ProgressReporter {
  constructor(private readonly stream: NodeJS.WritableStream) {}

  update(): void {
    // The note of the installed model says how long it took.
  }

  note(text: string): void {
    this.stream.write(`${text}\n`);
  }

  close(): void {
    // Nothing is open.
  }
}

function isDue({ shownMs, shownPercent }: PlainLine, percent: number, nowMs: number): boolean {
  const silentMs = nowMs - shownMs;
  return silentMs >= lineGapMs && (percent >= shownPercent + 10 || silentMs >= 5_000);
}

function labelOf({ modelId, file, stage }: PullProgress): string {
  return `${modelId}: ${stageText[stage]} ${file}`;
}

function amountOf({ done, total }: PullProgress): string {
  return total === null ? formatBytes(done) : `${formatBytes(done)} of ${formatBytes(total)}`;
}

/** `12.3 MB`, decimal as for disks and networks. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  for (; value >= 1_000 && unit < units.length - 1; unit++) value /= 1_000;
  return `${unit === 0 ? Math.round(value) : value.toFixed(1)} ${units[unit] ?? 'B'}`;
}

/** `1 h 02 m`, `3 m 20 s`, `12 s`. */
export function formatSeconds(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const pad = (value: number) => String(value).padStart(2, '0');
  if (whole >= 3_600) return `${Math.floor(whole / 3_600)} h ${pad(Math.floor((whole % 3_600) / 60))} m`;
  if (whole >= 60) return `${Math.floor(whole / 60)} m ${pad(whole % 60)} s`;
  return `${whole} s`;
}
