import { PlatformError } from '#common';
import { formatBytes } from '#model-store';
import { type CatalogEntry, checkCatalogEntry, type EntryCheck } from '#model-store/catalog';
import type { CliContext } from '../cli-context.js';

/**
 * Compares entries of the catalog with the hub, and prints what the hub has. Fails if one differs, so that a release
 * can depend on it.
 */
export async function checkFoundEntries(
  context: CliContext,
  entries: readonly CatalogEntry[],
  { json }: { json?: boolean },
): Promise<void> {
  const checks: EntryCheck[] = [];
  for (const entry of entries) {
    context.signal.throwIfAborted();
    const check = await checkCatalogEntry(entry, context.sources);
    checks.push(check);
    if (json !== true) context.output.line(describeCheck(entry, check));
  }
  if (json === true) context.output.json({ models: checks });
  const differing = checks.filter(({ problems }) => problems.length > 0);
  if (differing.length === 0) return;
  const ids = differing.map(({ id }) => id).join(', ');
  throw new PlatformError(
    'INVALID_MODEL',
    `${differing.length} of ${checks.length} are not on the hub as the catalog says: ${ids}.`,
  );
}

function describeCheck({ id, source }: CatalogEntry, { revision, files, problems }: EntryCheck): string {
  if (revision === null) return `${id}: ${problems.join('; ')}`;
  const bytes = files.reduce((sum, file) => sum + (file.bytes ?? 0), 0);
  const found = `${source} at ${revision.slice(0, 12)}, ${formatBytes(bytes)}`;
  return problems.length === 0 ? `${id}: as the hub has it (${found})` : `${id}: ${problems.join('; ')} (${found})`;
}
