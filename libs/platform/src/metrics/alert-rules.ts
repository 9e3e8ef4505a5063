/** A comparison of a rule, in the notation of Prometheus. */
export type Comparison = readonly ['>' | '==', number];

/**
 * An alert of `k8s/observability/rules/sluice.rules.yaml` that a process can judge without Prometheus. A test compares
 * both, so neither can change alone.
 */
export interface AlertRule {
  severity: 'critical' | 'warning';
  /** All must hold, in the order of the rule's expression. */
  comparisons: readonly Comparison[];
  /** The time over which the rule counts events, in ms. Absent: it counts none. */
  windowMs?: number;
  /** How long the condition must hold before the alert fires, in ms. */
  forMs: number;
  /** The page in `docs/runbooks`, without `.md`. */
  runbook: string;
}

const minute = 60_000;

export const alertRules = {
  SluiceStoreDown: { severity: 'critical', comparisons: [['==', 0]], forMs: minute, runbook: 'store-down' },
  SluiceBusSlow: { severity: 'warning', comparisons: [['>', 1]], forMs: 5 * minute, runbook: 'bus-slow' },
  SluiceModelWithoutWorker: {
    severity: 'critical',
    comparisons: [
      ['>', 0],
      ['==', 0],
    ],
    forMs: 5 * minute,
    runbook: 'model-without-worker',
  },
  SluiceJobsWaitLong: {
    severity: 'warning',
    comparisons: [['>', 120]],
    forMs: 5 * minute,
    runbook: 'jobs-wait-long',
  },
  SluiceQueueMemoryHigh: {
    severity: 'warning',
    comparisons: [['>', 0.75]],
    forMs: 5 * minute,
    runbook: 'queue-memory-high',
  },
  SluiceProviderFallback: {
    severity: 'warning',
    comparisons: [['==', 1]],
    forMs: 5 * minute,
    runbook: 'provider-fallback',
  },
  SluiceModelLoadFails: {
    severity: 'warning',
    comparisons: [['>', 0]],
    forMs: 10 * minute,
    runbook: 'model-load-fails',
  },
  SluiceLedgerBroken: { severity: 'critical', comparisons: [['>', 0]], forMs: 0, runbook: 'ledger-broken' },
  SluiceLedgerNotVerified: {
    severity: 'warning',
    comparisons: [['>', 10_800]],
    forMs: 15 * minute,
    runbook: 'ledger-not-verified',
  },
  SluiceReservationsNotClosed: {
    severity: 'warning',
    comparisons: [
      ['>', 0],
      ['==', 0],
    ],
    windowMs: 30 * minute,
    forMs: 15 * minute,
    runbook: 'reservations-not-closed',
  },
  SluiceUsageNotFolded: {
    severity: 'warning',
    comparisons: [['>', 7_200]],
    forMs: 15 * minute,
    runbook: 'usage-not-folded',
  },
} as const satisfies Record<string, AlertRule>;

export type AlertName = keyof typeof alertRules;

/** Whether the condition of a rule holds for the values that its comparisons are about, in their order. */
export function alertHolds(name: AlertName, ...values: number[]): boolean {
  const { comparisons }: AlertRule = alertRules[name];
  if (values.length !== comparisons.length) throw new RangeError(`${name} compares ${comparisons.length} values.`);
  return comparisons.every(([operator, limit], index) => {
    const value = values[index] ?? Number.NaN;
    return operator === '>' ? value > limit : value === limit;
  });
}
