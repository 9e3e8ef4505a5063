import { formatNanos } from '#common';
import type { CliContext } from '../cli-context.js';
import { requireLedger } from '../money/require-ledger.js';
import { resolveAccount } from './resolve-account.js';

/** `sluice accounts show`: prints the account and its balances. */
export async function showAccount(
  context: CliContext,
  idOrName: string | undefined,
  { json }: { json?: boolean },
): Promise<void> {
  const account = await resolveAccount(context, idOrName);
  const balance = await (await requireLedger(context)).balance(account.id);
  if (json) return context.output.json({ ...account, balance });
  context.output.line(`${account.id}  ${account.name}`);
  const beta = `${account.betaAccess ? ', beta access' : ''}${account.isOperator ? ', operator' : ''}`;
  if (account.state !== 'active') context.output.line(account.state);
  context.output.line(`tier ${account.tier}${beta}, since ${account.createdAt.toISOString()}`);
  context.output.table(
    ['CURRENCY', 'FREE'],
    [
      ['DIEM', `${formatNanos(balance.diemNano)} of ${formatNanos(balance.diemAllowanceNano)} today`],
      ['BUNDLED', formatNanos(balance.bundledNano)],
      ['USD', formatNanos(balance.usdNano)],
    ],
  );
  context.output.line(`reserved by open requests: ${formatNanos(balance.heldNano)}`);
  context.next(`sluice usage --account ${account.id}, or sluice keys list --account ${account.id}`);
}
