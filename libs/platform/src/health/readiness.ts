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
    const needed = new Set(this.checks.filter(({ isPartial }) => !isPartial).map(({ name }) => name));
    const ready = !this.draining && results.every(([name, { ok }]) => ok || !needed.has(name));
    const checks = Object.fromEntries(
      results.map(([name, { ok }]) => [name, ok ? ('ok' as const) : ('unavailable' as const)]),
    );
    const reasons = results.flatMap(([name, { reason }]) => (reason === null ? [] : [[name, reason] as const]));
    return {
      status: ready ? 'ok' : 'unavailable',
      checks,
      ...(reasons.length > 0 && { reasons: Object.fromEntries(reasons) }),
    };
  }
}

interface Answer {
  ok: boolean;
  reason: string | null;
}

async function answersInTime(check: () => Promise<void>): Promise<Answer> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Answer>((resolve) => {
    const reason = `No answer within ${checkTimeoutMs} ms.`;
    timer = setTimeout(() => resolve({ ok: false, reason }), checkTimeoutMs);
  });
  const answer = Promise.resolve()
    .then(check)
    .then(
      () => ({ ok: true, reason: null }),
      (error: unknown) => ({ ok: false, reason: error instanceof PlatformError ? error.message : null }),
    );
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}
