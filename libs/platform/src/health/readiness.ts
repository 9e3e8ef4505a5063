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
}

/**
 * Body of `GET /health/ready`. Names the failing check, and the reason if it is a `PlatformError`: other errors contain
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

/**
 * Runs all checks concurrently; one that takes over 2 s fails. Draining processes are not ready. `onChange` is called
 * once when a check begins to fail and once when it passes again.
 */
export class Readiness {
  private draining = false;
  private readonly failing = new Set<string>();
  /** Names of the checks that are no dependencies. */
  readonly startupChecks: ReadonlySet<string>;

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

  async report(): Promise<ReadinessReport> {
    const results = await Promise.all(
      this.checks.map(async ({ name, check }) => [name, await respondsInTime(check)] as const),
    );
    for (const [name, { ok, error }] of results) this.note(name, ok ? null : error);
    const needed = new Set(this.checks.filter(({ isPartial }) => !isPartial).map(({ name }) => name));
    const ready = !this.draining && results.every(([name, { ok }]) => ok || !needed.has(name));
    const checks = Object.fromEntries(
      results.map(([name, { ok }]) => [name, ok ? ('ok' as const) : ('unavailable' as const)]),
    );
    const reasons = results.flatMap(([name, { error }]) =>
      error instanceof PlatformError ? [[name, error.message] as const] : [],
    );
    return {
      status: ready ? 'ok' : 'unavailable',
      checks,
      ...(reasons.length > 0 && { reasons: Object.fromEntries(reasons) }),
    };
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
