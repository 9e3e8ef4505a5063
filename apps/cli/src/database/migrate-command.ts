import type { Command } from 'commander';
import type { CliContext } from '../cli-context.js';

/** `sluice migrate`: the deployment step before the new version starts. */
export function addMigrateCommand(program: Command, context: CliContext): void {
  program
    .command('migrate')
    .description('migrate the database to this version; applied migrations are skipped')
    .option('--json', 'print one JSON document to stdout')
    .action(async ({ json }: { json?: boolean }) => migrateDatabase(context, json === true));
}

async function migrateDatabase(context: CliContext, json: boolean): Promise<void> {
  const { migrate } = await import('#platform/migrations');
  const onLocked = (name: string) => {
    if (!json) context.output.line(`${name}: waiting for a lock held by another session`);
  };
  const applied = await migrate({ url: await context.requireDatabaseUrl(), onLocked });
  if (json) return context.output.json({ applied });
  for (const name of applied) context.output.line(`${name}: applied`);
  if (applied.length === 0) context.output.line('The database is up to date.');
}
