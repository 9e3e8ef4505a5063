/** One thing a process cannot do without; rejects while it is missing. */
export interface ReadinessCheck {
  name: string;
  check: () => Promise<void>;
}

/** Body of `GET /health/ready`. Says which check fails, never why: errors name hosts and users. */
export interface ReadinessReport {
  status: 'ok' | 'unavailable';
  checks: Record<string, 'ok' | 'unavailable'>;
}

const checkTimeoutMs = 2_000;

/** Asks all checks at once; one that takes over 2 s counts as failed. Draining processes are not ready. */
export class Readiness {
  private draining = false;

  constructor(private readonly checks: ReadinessCheck[]) {}

  /** From now on the process wants no new work. */
  drain(): void {
    this.draining = true;
  }

  async report(): Promise<ReadinessReport> {
    const results = await Promise.all(
      this.checks.map(async ({ name, check }) => [name, await answersInTime(check)] as const),
    );
    const ready = !this.draining && results.every(([, ok]) => ok);
    const checks = Object.fromEntries(
      results.map(([name, ok]) => [name, ok ? ('ok' as const) : ('unavailable' as const)]),
    );
    return { status: ready ? 'ok' : 'unavailable', checks };
  }
}

async function answersInTime(check: () => Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), checkTimeoutMs);
  });
  const answer = Promise.resolve()
    .then(check)
    .then(
      () => true,
      () => false,
    );
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}
