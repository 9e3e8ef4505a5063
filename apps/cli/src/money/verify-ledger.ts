import type { VerifyReport } from '#billing';
import { formatNanos, PlatformError } from '#common';
import type { CliContext } from '../cli-context.js';
import { requireLedger } from './require-ledger.js';

const checks: Record<keyof VerifyReport['breaks'], string> = {
  unbalancedTransactions: 'transactions that do not sum to zero',
  totalNano: 'sum of all entries, in nano-USD',
  negativeBalances: 'balances below what is reserved',
  wrongBalances: 'balances that are not the sum of their entries and reservations',
  openReservationsWithoutOpenJob: 'open reservations without an open job',
  openJobsWithoutOpenReservation: 'open jobs without an open reservation',
  jobsChargedTwice: 'jobs charged more than once',
  wrongCharges: 'charges that differ from their reservations',
  wrongRetiredCharges: 'keys whose charges without a reservation differ from their deleted reservations',
  wrongClosings: 'ledger accounts whose closing balance differs from their archived entries',
  wrongTopUps: 'top-ups whose credits differ from what was paid, or credits without a top-up',
  wrongKeySpend: 'keys whose spend is not the sum of their charges and reservations',
};

/** `sluice ledger verify`: prints all figures, then rejects on any violation. */
export async function verifyLedger(context: CliContext, { json }: { json?: boolean }): Promise<void> {
  const ledger = await requireLedger(context);
  const startedMs = performance.now();
  const report = await ledger.verify();
  const elapsedMs = Math.round(performance.now() - startedMs);
  const { isConsistent } = await import('#billing');
  const consistent = isConsistent(report);
  if (json) context.output.json({ consistent, elapsedMs, ...report });
  else print(context, report, elapsedMs);
  if (!consistent) throw new PlatformError('UNKNOWN_ERROR', 'The ledger is broken.');
}

function print({ output }: CliContext, { figures, breaks }: VerifyReport, elapsedMs: number): void {
  const { accounts, transactions, entries, archivedTransactions, openReservations, chargedNano, heldNano } = figures;
  output.line(`${accounts} accounts, ${transactions} transactions, ${entries} entries, verified in ${elapsedMs} ms`);
  if (Number(archivedTransactions) > 0) output.line(`${archivedTransactions} transactions are in archives`);
  output.line(
    `charged ${formatNanos(chargedNano)}, reserved ${formatNanos(heldNano)} by ${openReservations} open requests`,
  );
  for (const [name, text] of Object.entries(checks)) {
    const count = breaks[name as keyof typeof checks];
    output.line(`${BigInt(count) === 0n ? 'ok    ' : 'BROKEN'}  ${String(count)} ${text}`);
  }
}
