import { describe, expect, it } from 'vitest';
import { createLogger, type Logger } from '#platform/logging';
import { Metrics } from '#platform/metrics';
import { testDouble } from '#test/test-double';
import type { VerifyReport } from './ledger.repository.js';
import { LedgerWatch } from './ledger-watch.js';

const noBreaks: VerifyReport['breaks'] = {
  unbalancedTransactions: 0,
  totalNano: 0n,
  negativeBalances: 0,
  wrongBalances: 0,
  openReservationsWithoutOpenJob: 0,
  openJobsWithoutOpenReservation: 0,
  jobsChargedTwice: 0,
  wrongCharges: 0,
  wrongRetiredCharges: 0,
  wrongClosings: 0,
  wrongTopUps: 0,
  wrongKeySpend: 0,
};

/** A watch over a ledger in which `breaks` is non-zero; closed once its first verification is done. */
async function watched(breaks: Partial<VerifyReport['breaks']>, verifyEveryMs = 3_600_000) {
  const metrics = new Metrics('ops', { processMetrics: false });
  const lines: string[] = [];
  const logger: Logger = createLogger('ops', { stream: { write: (line) => void lines.push(line) } });
  const figures = {
    ...{ accounts: 1, transactions: 1, entries: 2, archivedTransactions: 0 },
    ...{ openReservations: 2, chargedNano: 0n, heldNano: 0n },
  };
  const watch = new LedgerWatch(
    testDouble({ openReservations: async () => ({ count: 2, heldNano: 1_500_000_000n }) }),
    { verify: async () => ({ figures, breaks: { ...noBreaks, ...breaks } }) },
    metrics,
    logger,
    testDouble({ ledgerVerifyMs: verifyEveryMs }),
  );
  watch.start();
  await watch.close();
  return { text: await metrics.render(), lines };
}

describe('LedgerWatch', () => {
  it('reports open reservations, and zeros for a sound ledger', async () => {
    const { text, lines } = await watched({});
    expect(text).toContain('sluice_ledger_open_reservations{app="ops"} 2');
    expect(text).toContain('sluice_ledger_open_reservations_usd{app="ops"} 1.5');
    expect(text.match(/^sluice_ledger_broken_invariants\{.*\} 0$/gm)).toHaveLength(12);
    expect(text).toMatch(/sluice_ledger_last_verified_timestamp_seconds\{app="ops"\} 1\d{9}/);
    expect(lines).toEqual([]);
  });

  it('reports in metrics and in the log what is broken', async () => {
    const { text, lines } = await watched({ jobsChargedTwice: 3, totalNano: -7n });
    expect(text).toContain('sluice_ledger_broken_invariants{check="jobsChargedTwice",app="ops"} 3');
    expect(text).toContain('sluice_ledger_broken_invariants{check="totalNano",app="ops"} -7');
    expect(lines.join('')).toContain('the ledger is broken');
  });

  it('does not wait for a running verification when it closes', async () => {
    const watch = new LedgerWatch(
      testDouble({ openReservations: async () => ({ count: 0, heldNano: 0n }) }),
      { verify: () => new Promise(() => undefined) },
      new Metrics('ops', { processMetrics: false }),
      createLogger('ops', { level: 'silent' }),
      testDouble({ ledgerVerifyMs: 3_600_000 }),
    );
    watch.start();
    await expect(watch.close(5)).resolves.toBeUndefined();
  });

  it('verifies nothing when configured so', async () => {
    const { text } = await watched({ jobsChargedTwice: 3 }, 0);
    expect(text).not.toContain('sluice_ledger_broken_invariants');
    expect(text).toContain('sluice_ledger_open_reservations{app="ops"} 2');
  });
});
