import type { InstallationProgress } from '#model-registry/installations';
import type { ModelManifest } from '#model-registry/manifest';
import type { ProgressReporter, PullProgress } from '#model-store';

/** Shortest time between two reports of one stage, in ms. */
const reportEveryMs = 200;

/**
 * Turns what a pull says of each file into the progress of the whole download, where the manifest states the size of
 * every file.
 */
export class InstallProgress implements ProgressReporter {
  private readonly doneByFile = new Map<string, number>();
  private readonly downloadBytes: number | null;
  private reported: InstallationProgress['stage'] | null = null;
  private reportedMs = -Infinity;
  private latest: InstallationProgress | null = null;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    { sources }: Pick<ModelManifest, 'sources'>,
    private readonly report: (progress: InstallationProgress) => void,
    private readonly nowMs: () => number = () => performance.now(),
  ) {
    const files = sources.flatMap((source) => source.files);
    const isKnown = files.length > 0 && files.every(({ bytes }) => bytes !== undefined);
    this.downloadBytes = isKnown ? files.reduce((sum, { bytes = 0 }) => sum + bytes, 0) : null;
  }

  update({ stage, file, done, total }: PullProgress): void {
    if (stage === 'download') this.doneByFile.set(file, done);
    const whole = stage === 'download' ? this.wholeDownload(done, total) : { done, total };
    this.latest = { stage, file, ...whole, unit: stage === 'convert' ? 'steps' : 'bytes' };
    const isSoon = this.nowMs() - this.reportedMs < reportEveryMs;
    if (stage !== this.reported || done === total || !isSoon) return this.flush();
    // The last bytes before a pause count too.
    this.timer ??= setTimeout(() => this.flush(), reportEveryMs).unref();
  }

  private flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.latest === null) return;
    this.reported = this.latest.stage;
    this.reportedMs = this.nowMs();
    this.report(this.latest);
  }

  note(): void {
    // Operators read what happens in the log of the command line only.
  }

  close(): void {
    clearTimeout(this.timer);
  }

  /** Packed sources are larger or smaller than their files, so the sum never exceeds the whole. */
  private wholeDownload(done: number, total: number | null): Pick<InstallationProgress, 'done' | 'total'> {
    if (this.downloadBytes === null) return { done, total };
    const sum = [...this.doneByFile.values()].reduce((bytes, part) => bytes + part, 0);
    return { done: Math.min(sum, this.downloadBytes), total: this.downloadBytes };
  }
}
