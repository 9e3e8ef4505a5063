import { type Installation, InstallationRepository } from '#model-registry/installations';
import { formatBytes } from '#model-store';
import type { CliContext } from '../cli-context.js';

const maxRows = 50;

/** Lists the latest installations, newest first. */
export async function listInstallations(context: CliContext, { json }: { json?: boolean }): Promise<void> {
  const repository = new InstallationRepository(await context.requireDatabase());
  const installations = await repository.page({ state: null }, null, maxRows);
  if (json) return context.output.json({ installations });
  if (installations.length === 0)
    return context.output.line('No model was asked for in the console or by the Admin API.');
  context.output.table(
    ['REFERENCE', 'MODEL', 'STATE', 'PROGRESS', 'ASKED AT', 'REASON'],
    installations.map((installation) => [
      installation.reference,
      installation.modelId ?? '–',
      installation.state,
      progressOf(installation),
      installation.createdAt.toISOString(),
      installation.error?.message ?? '–',
    ]),
  );
}

function progressOf({ progress }: Installation): string {
  if (progress === null) return '–';
  const { stage, done, total, unit } = progress;
  if (unit === 'bytes') return `${stage} ${formatBytes(done)}${total === null ? '' : ` of ${formatBytes(total)}`}`;
  return total === null ? stage : `${stage} ${done} of ${total}`;
}
