import { PlatformError } from '#common';

/** One thing a process cannot do without; rejects while it is missing. */
export interface ReadinessCheck {
  name: string;
  check: () => Promise<void>;
  /** Some routes alone need it: its failure is told, and the process stays ready for the others. */
  isPartial?: boolean;
}

/**
 * Body of `GET /health/ready`. Says which check fails, and why where the check says so in a `PlatformError`: other errors
 * name hosts and users.
 */
export interface ReadinessReport {
  status: 'ok' | 'unavailable';
  checks: Record<string, 'ok' | 'unavailable'>;
  reasons?: Record<string, string>;
}

/** A check that began to fail, or passes again. */
export interface ReadinessChange {
  check: string;
  /** What it fails of, for operators; null: it passes again. */
  error: unknown;
}

const checkTimeoutMs = 2_000;

/**
 * Asks all checks at once; one that takes over 2 s counts as failed. Draining processes are not ready. `onChange` hears of
 * each check once when it begins to fail, and once when it passes again.
 */
export class Readiness {
  private draining = false;
  private readonly failing = new Set<string>();

  constructor(
    private readonly checks: ReadinessCheck[],
    private readonly onChange: (change: ReadinessChange) => void = () => undefined,
  ) {}

  /** From now on the process wants no new work. */
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
    // Who stops closes its stores; that is no news.
    if (this.draining || this.failing.has(check) === (error !== null)) return;
    if (error === null) this.failing.delete(check);
    else this.failing.add(check);
    this.onChange({ check, error });
  }
}

interface Answer {
  ok: boolean;
  error: unknown;
}

async function respondsInTime(check: () => Promise<void>): Promise<Answer> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Answer>((resolve) => {
    const error = new PlatformError('SERVICE_UNAVAILABLE', `No answer within ${checkTimeoutMs} ms.`);
    timer = setTimeout(() => resolve({ ok: false, error }), checkTimeoutMs);
  });
  const answer = Promise.resolve()
    .then(check)
    .then(
      () => ({ ok: true, error: null }),
      (error: unknown) => ({ ok: false, error: error ?? new Error('It says not why.') }),
    );
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}
