import { PlatformError } from '#common';

/** A required dependency of a process; `check` rejects while it is unavailable. */
export interface ReadinessCheck {
  name: string;
  check: () => Promise<void>;
  /** Only some routes need it: a failure is reported, and the process stays ready. */
  isPartial?: boolean;
  /**
   * What the process itself does at every start, instead of a dependency: no `sluice_dependency_up`, and logged as
   * information.
   */
  isStartup?: boolean;
  /**
   * All replicas share it, so that a failure would take them all out of a load balancer at once: the process becomes
   * ready once the check has passed, and stays ready when it fails later.
   */
  isNeededAtStart?: boolean;
}

/**
 * Body of `GET /health/ready` and `GET /health/dependencies`. Names the failing check, and the reason if it is a `PlatformError`: other errors contain
 * hosts and users.
 */
export interface ReadinessReport {
  status: 'ok' | 'unavailable';
  checks: Record<string, 'ok' | 'unavailable'>;
  reasons?: Record<string, string>;
}

/** A check that began to fail or passes again. */
export interface ReadinessChange {
  check: string;
  /** The failure, for operators; null: it passes again. */
  error: unknown;
  isStartup: boolean;
}

const checkTimeoutMs = 2_000;

/** How long `report` waits for a check that does not decide, in ms: load balancers give up on a slow response. */
const glanceMs = 250;

/**
 * Runs all checks concurrently; one that takes over 2 s fails. Draining processes are not ready. `onChange` is called
 * once when a check begins to fail and once when it passes again.
 */
export class Readiness {
  private draining = false;
  private readonly failing = new Set<string>();
  private readonly startupChecks: ReadonlySet<string>;
  /** Checks that have passed at least once. */
  private readonly passed = new Set<string>();

  constructor(
    private readonly checks: ReadinessCheck[],
    private readonly onChange: (change: ReadinessChange) => void = () => undefined,
  ) {
    this.startupChecks = new Set(checks.filter(({ isStartup }) => isStartup).map(({ name }) => name));
  }

  /** Reports the process as not ready from now on. */
  drain(): void {
    this.draining = true;
  }

  /** Whether the process can serve, with the state of all checks; responds at once when no check can change that. */
  async report(): Promise<ReadinessReport> {
    const results = await Promise.all(this.checks.map((check) => this.glance(check)));
    const ready = !this.draining && this.checks.every((check, index) => results[index]?.ok || !this.decides(check));
    return reportOf(ready, this.checks, results);
  }

  /** Whether everything that the process needs responds. */
  async dependencies(): Promise<ReadinessReport> {
    const dependencies = this.checks.filter(({ isStartup }) => isStartup !== true);
    const results = await Promise.all(dependencies.map((check) => this.run(check)));
    return reportOf(
      results.every(({ ok }) => ok),
      dependencies,
      results,
    );
  }

  private decides({ name, isPartial = false, isNeededAtStart = false }: ReadinessCheck): boolean {
    return !isPartial && !(isNeededAtStart && this.passed.has(name));
  }

  private async run({ name, check }: ReadinessCheck): Promise<CheckResult> {
    const result = await respondsInTime(check);
    if (result.ok) this.passed.add(name);
    this.note(name, result.ok ? null : result.error);
    return result;
  }

  private async glance(check: ReadinessCheck): Promise<CheckResult> {
    const result = this.run(check);
    const wasFailing = this.failing.has(check.name);
    const isKnown = wasFailing || this.passed.has(check.name);
    if (this.decides(check) || !isKnown) return await result;
    const lastKnown = { ok: !wasFailing, error: null };
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<CheckResult>((resolve) => (timer = setTimeout(() => resolve(lastKnown), glanceMs)));
    return await Promise.race([result, late]).finally(() => clearTimeout(timer));
  }

  private note(check: string, error: unknown): void {
    // A stopping process closes its stores; these failures are not reported.
    if (this.draining || this.failing.has(check) === (error !== null)) return;
    if (error === null) this.failing.delete(check);
    else this.failing.add(check);
    this.onChange({ check, error, isStartup: this.startupChecks.has(check) });
  }
}

interface CheckResult {
  ok: boolean;
  error: unknown;
}

function reportOf(isOk: boolean, checks: readonly ReadinessCheck[], results: readonly CheckResult[]): ReadinessReport {
  const named = checks.map(({ name }, index) => ({ name, ...(results[index] ?? { ok: false, error: null }) }));
  const states = named.map(({ name, ok }) => [name, ok ? ('ok' as const) : ('unavailable' as const)]);
  const reasons = named.flatMap(({ name, error }) =>
    error instanceof PlatformError ? [[name, error.message] as const] : [],
  );
  return {
    status: isOk ? 'ok' : 'unavailable',
    checks: Object.fromEntries(states) as ReadinessReport['checks'],
    ...(reasons.length > 0 && { reasons: Object.fromEntries(reasons) }),
  };
}

async function respondsInTime(check: () => Promise<void>): Promise<CheckResult> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<CheckResult>((resolve) => {
    const error = new PlatformError('SERVICE_UNAVAILABLE', `No response within ${checkTimeoutMs} ms.`);
    timer = setTimeout(() => resolve({ ok: false, error }), checkTimeoutMs);
  });
  const checkResult = Promise.resolve()
    .then(check)
    .then(
      () => ({ ok: true, error: null }),
      (error: unknown) => ({ ok: false, error: error ?? new Error('No reason given.') }),
    );
  return Promise.race([checkResult, late]).finally(() => clearTimeout(timer));
}
