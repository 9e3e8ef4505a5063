import { LiveLines } from './live-lines.js';
import type { ComingModel, ProgressReporter, PullProgress } from './progress.js';

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
  progress: PullProgress;
  pace: Pace;
  startMs: number;
}

class BarReporter implements ProgressReporter {
  private readonly live: LiveLines;
  private readonly lines = new Map<string, BarLine>();
  private readonly ended = new Set<string>();
  private next: readonly ComingModel[] = [];

  constructor(
    stream: NodeJS.WriteStream,
    private readonly now: () => number,
  ) {
    this.live = new LiveLines(stream, (columns, rows) => this.render(columns, rows));
  }

  update(progress: PullProgress): void {
    const key = `${progress.modelId}\n${progress.file}\n${progress.stage}`;
    if (this.ended.has(key)) return;
    const nowMs = this.now();
    const line = this.lines.get(key) ?? { progress, pace: new Pace(progress, nowMs), startMs: nowMs };
    line.progress = progress;
    this.lines.set(key, line);
    if (progress.done === progress.total) this.end(key, line);
    else this.live.refresh();
  }

  /** Replaces a finished bar by a line, so that active bars stay on the screen however many files a model has. */
  private end(key: string, { progress, startMs }: BarLine): void {
    this.ended.add(key);
    this.lines.delete(key);
    const seconds = formatSeconds((this.now() - startMs) / 1_000);
    this.note(`${labelOf(progress)}: ${formatBytes(progress.done)} in ${seconds}`);
  }

  coming(models: readonly ComingModel[]): void {
    this.next = models;
  }

  note(text: string): void {
    this.live.note(text);
  }

  close(): void {
    this.lines.clear();
    this.live.close();
  }

  private render(columns: number, rows: number): string[] {
    const nowMs = this.now();
    const bars = [...this.lines.values()].map(({ progress, pace }) => {
      const { rate, left } = pace.describe(progress, nowMs);
      return firstThatFits(barTexts(progress, rate, left), columns);
    });
    if (bars.length > 0 && this.next.length > 0) bars.push(firstThatFits(comingTexts(this.next), columns));
    return bars.slice(-rows);
  }
}

/** The ways to show a pull, from the widest on: figures matter more than the name of the file, and that more than the bar. */
function barTexts(progress: PullProgress, rate: string, left: string): string[] {
  const { modelId, stage, done, total } = progress;
  const share = total === null || total === 0 ? 0 : done / total;
  const percent = `${String(Math.floor(share * 100)).padStart(3)}%`;
  const amount = amountOf(progress);
  const full = labelOf(progress);
  const short = `${modelId}: ${stageText[stage]}`;
  return [
    [full, bar(share, 24), percent, amount, rate, `${left} left`],
    [full, bar(share, 10), percent, amount, rate, `${left} left`],
    [short, bar(share, 10), percent, amount, rate, `${left} left`],
    [short, percent, amount, rate, `${left} left`],
    [short, percent, amount, `${left} left`],
    [modelId, percent, `${left} left`],
    [modelId, percent],
  ].map((parts) => parts.join(' '));
}

function bar(share: number, width: number): string {
  const full = Math.round(share * width);
  return '█'.repeat(full) + '░'.repeat(width - full);
}

/** The ways to show what is pulled next, from the widest on. */
function comingTexts(models: readonly ComingModel[]): string[] {
  const bytes = models.reduce((sum, model) => sum + (model.bytes ?? 0), 0);
  const size = bytes > 0 ? ` (${formatBytes(bytes)})` : '';
  const names = models.map(({ modelId }) => modelId);
  return names
    .map((_, hidden) => [names.slice(0, names.length - hidden).join(', '), ...(hidden > 0 ? [`${hidden} more`] : [])])
    .map((parts) => `Then: ${parts.join(' and ')}${size}`);
}

function firstThatFits(texts: readonly string[], columns: number): string {
  const fitting = texts.find(({ length }) => length <= columns);
  return fitting ?? `${texts.at(-1)?.slice(0, columns - 1) ?? ''}…`;
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
