/** Failed restarts in a row after which requests no longer wait for the host. */
const maxFailedRestarts = 3;

export interface HostDowntimeOptions {
  /** How long a request waits for a host, in ms; clients wait as long. */
  waitMs: number;
  onDown: () => void;
  onRecovered: () => void;
}

/**
 * Tracks whether the host of a model is down for so long that its jobs should go to other workers: longer than requests
 * wait for it, or after repeated failed starts.
 */
export class HostDowntime {
  private failures = 0;
  private down = false;
  private timer: NodeJS.Timeout | null = null;
  private isStopped = false;

  constructor(private readonly options: HostDowntimeOptions) {}

  get isDown(): boolean {
    return this.down;
  }

  /** True for a host that cannot be started, whether it ever ran or not. */
  get failsRepeatedly(): boolean {
    return this.failures >= maxFailedRestarts;
  }

  died(): void {
    this.failures++;
    if (this.isStopped || this.down) return;
    if (this.failsRepeatedly) this.markDown();
    else this.timer ??= setTimeout(() => this.markDown(), this.options.waitMs);
  }

  recovered(): void {
    this.failures = 0;
    this.forget();
    if (!this.down) return;
    this.down = false;
    if (!this.isStopped) this.options.onRecovered();
  }

  /** The model was removed here; reports nothing more. */
  stop(): void {
    this.isStopped = true;
    this.forget();
  }

  private markDown(): void {
    this.forget();
    this.down = true;
    this.options.onDown();
  }

  private forget(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
  }
}
