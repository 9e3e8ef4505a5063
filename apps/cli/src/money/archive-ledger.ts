import { LedgerArchiver, LedgerArchiveRepository } from '#billing';
import { PlatformError } from '#common';
import type { CliContext } from '../cli-context.js';

interface ArchiveOptions {
  before: string;
  to: string;
  json?: boolean;
}

/** `sluice ledger archive`: transactions of closed months leave the ledger for a file. */
export async function archiveLedger(context: CliContext, { before, to, json }: ArchiveOptions): Promise<void> {
  const repository = new LedgerArchiveRepository(await context.requireDatabase());
  const archiver = new LedgerArchiver(repository, (line) => context.note(line));
  const result = await archiver.archive({ month: before, folder: to });
  if (json) return context.output.json(result);
  const { path, sha256, transactions, entries } = result;
  if (path === null) return context.output.line('nothing was posted before, or it is archived already');
  context.output.line(`${transactions} transactions with ${entries} entries are in ${path}`);
  context.output.line(`sha256 ${sha256}`);
  context.next(`sluice ledger verify --archives ${to}`);
}

/** Rejects where the file of an archive is missing from the folder, or was changed. */
export async function checkArchives(context: CliContext, folder: string): Promise<void> {
  const faults = await new LedgerArchiver(new LedgerArchiveRepository(await context.requireDatabase())).check(folder);
  if (faults.length === 0) return;
  const list = faults.map(({ file, fault }) => `${file} ${fault}`).join(', ');
  throw new PlatformError('UNKNOWN_ERROR', `Archives are not whole: ${list}.`);
}
