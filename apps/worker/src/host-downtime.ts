/** After so many failed restarts in a row nobody waits for the host any more. */
const restartsInSilence = 3;

export interface HostDowntimeOptions {
  /** How long a request waits for a host, in ms: so long callers wait for it, too. */
  waitMs: number;
  onAway: () => void;
  onBack: () => void;
}

/**
 * Whether the host of a model is away for so long that its jobs are better left to other workers, since this one could only
 * hold and fail them: longer than a request waits for it, or when it fails again and again.
 */
export class HostDowntime {
  private failures = 0;
  private away = false;
  private timer: NodeJS.Timeout | null = null;
  private isStopped = false;

  constructor(private readonly options: HostDowntimeOptions) {}

  get isAway(): boolean {
    return this.away;
  }

  /** True for a host that cannot be brought up, whether it ever was or not. */
  get failsAgainAndAgain(): boolean {
    return this.failures >= restartsInSilence;
  }

  died(): void {
    this.failures++;
    if (this.isStopped || this.away) return;
    if (this.failsAgainAndAgain) this.leave();
    else this.timer ??= setTimeout(() => this.leave(), this.options.waitMs);
  }

  cameBack(): void {
    this.failures = 0;
    this.forget();
    if (!this.away) return;
    this.away = false;
    if (!this.isStopped) this.options.onBack();
  }

  /** The model is given up here: nothing is told any more. */
  stop(): void {
    this.isStopped = true;
    this.forget();
  }

  private leave(): void {
    this.forget();
    this.away = true;
    this.options.onAway();
  }

  private forget(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
  }
}
