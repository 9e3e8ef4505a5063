import { formatNanos } from '#common';
import { resolveAccount } from '../accounts/resolve-account.js';
import type { CliContext } from '../cli-context.js';
import { requireLedger } from './require-ledger.js';

interface ShowOptions {
  account?: string;
  limit: number;
  json?: boolean;
}

/** `sluice ledger show`: the entries of one account. */
export async function showLedger(context: CliContext, { account, limit, json }: ShowOptions): Promise<void> {
  const { id: accountId } = await resolveAccount(context, account);
  const ledger = await requireLedger(context);
  // An existing account without entries gets an empty table; an unknown one an error.
  await ledger.balance(accountId);
  const entries = await ledger.entries(accountId, limit);
  if (json) return context.output.json({ accountId, entries });
  context.output.table(
    ['TIME', 'KIND', 'AMOUNT', 'CURRENCY', 'FOR', 'REQUEST'],
    entries.map(({ createdAt, kind, amountNano, currency, sku, note, requestId }) => [
      createdAt.toISOString(),
      kind,
      formatNanos(amountNano, 9),
      currency,
      sku ?? note,
      requestId ?? '–',
    ]),
  );
}
