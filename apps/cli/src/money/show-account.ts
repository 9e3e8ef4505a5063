import { formatNanos } from '#common';
import type { CliContext } from '../cli-context.js';
import { requireLedger, resolveAccount } from './require-ledger.js';

/** `sluice accounts show`: the account and what it can spend. */
export async function showAccount(
  context: CliContext,
  id: string | undefined,
  { json }: { json?: boolean },
): Promise<void> {
  const accountId = await resolveAccount(context, id);
  const balance = await (await requireLedger(context)).balance(accountId);
  const account = (await (await context.requireAccounts()).listAccounts()).find((row) => row.id === accountId);
  if (json) return context.output.json({ ...account, balance });
  context.output.line(`${accountId}  ${account?.name ?? ''}`);
  context.output.table(
    ['CURRENCY', 'FREE'],
    [
      ['DIEM', `${formatNanos(balance.diemNano)} of ${formatNanos(balance.diemAllowanceNano)} today`],
      ['BUNDLED', formatNanos(balance.bundledNano)],
      ['USD', formatNanos(balance.usdNano)],
    ],
  );
  context.output.line(`reserved by open requests: ${formatNanos(balance.heldNano)}`);
}
