import { MultiBar, Presets, type SingleBar } from 'cli-progress';
import type { ProgressReporter, PullProgress } from './progress.js';

export interface ProgressReporterOptions {
  /** Output stream; a terminal gets bars. Default stderr, so that `--json` on stdout stays clean. */
  stream?: NodeJS.WriteStream;
  /**
   * What is written where the stream is no terminal: `progress` is for a log that is watched, `sparse` for one that
   * is kept. Default `progress`.
   */
  lines?: keyof typeof lineSpacings;
  /** Monotonic clock in milliseconds; for tests. */
  now?: () => number;
}

/** When a file gets its next line. */
interface LineSpacing {
  /** Percent since its last line. */
  percent: number;
  /** Minimum interval, in ms, from its last line, or from its first update. */
  gapMs: number;
  /** Interval after which a line is written without further percents, in ms. */
  silentMs: number;
  /** Whether files that take less than `gapMs` have no line either. */
  omitsShort: boolean;
}

const lineSpacings = {
  progress: { percent: 10, gapMs: 2_000, silentMs: 5_000, omitsShort: false },
  sparse: { percent: 25, gapMs: 10_000, silentMs: Infinity, omitsShort: true },
} satisfies Record<string, LineSpacing>;

/**
 * A terminal shows bars with bytes, rate and time left; elsewhere a line is written every 10 % or 5 s, at most one in 2
 * s. Sparse lines are one per quarter of a file, each with at least 10 s before it.
 */
export function createProgressReporter(options: ProgressReporterOptions = {}): ProgressReporter {
  const stream = options.stream ?? process.stderr;
  const now = options.now ?? (() => performance.now());
  if (stream.isTTY) return new BarReporter(stream, now);
  return new LineReporter(stream, { now, spacing: lineSpacings[options.lines ?? 'progress'] });
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

class LineReporter implements ProgressReporter {
  private readonly lines = new Map<string, PlainLine>();

  constructor(
    private readonly stream: NodeJS.WritableStream,
    private readonly options: { now: () => number; spacing: LineSpacing },
  ) {}

  update(progress: PullProgress): void {
    const key = `${progress.modelId}\n${progress.file}\n${progress.stage}`;
    const nowMs = this.options.now();
    const line = this.lines.get(key) ?? this.open(key, progress, nowMs);
    if (line.isOver) return;
    line.isOver = progress.done === progress.total;
    const percent = progress.total ? Math.floor((progress.done / progress.total) * 100) : 0;
    if (line.isOver ? line.shownPercent < 0 && this.isOmitted(progress) : !this.isDue(line, percent, nowMs)) return;
    Object.assign(line, { shownPercent: percent, shownMs: nowMs });
    const { rate, left } = line.pace.describe(progress, nowMs);
    const pace = rate === '–' ? '' : ` ${rate}${line.isOver ? '' : `, ${left} left`}`;
    this.note(`${labelOf(progress)} ${percent}% ${amountOf(progress)}${pace}`);
  }

  /** Whether a file that is complete before its first line has none. Most are verified immediately. */
  private isOmitted({ stage }: PullProgress): boolean {
    return stage === 'verify' || this.options.spacing.omitsShort;
  }

  private isDue({ shownMs, shownPercent }: PlainLine, percent: number, nowMs: number): boolean {
    const { percent: step, gapMs, silentMs } = this.options.spacing;
    const sinceMs = nowMs - shownMs;
    return sinceMs >= gapMs && (percent >= shownPercent + step || sinceMs >= silentMs);
  }

  private open(key: string, progress: PullProgress, nowMs: number): PlainLine {
    const shownMs = this.isOmitted(progress) ? nowMs : Number.NEGATIVE_INFINITY;
    const line = { pace: new Pace(progress, nowMs), shownPercent: -100, shownMs, isOver: false };
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
