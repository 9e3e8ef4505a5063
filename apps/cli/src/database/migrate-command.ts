import type { Command } from 'commander';
import type { CliContext } from '../cli-context.js';
import { readPools } from '../pools/pool-list.js';
import { ensureQueueUser } from '../pools/pool-roles.js';

interface MigratedPool {
  pool: string;
  models: readonly string[];
  /** The queue user of its workers. */
  user: string;
}

/** `sluice migrate`: the deployment step before the new version starts. */
export function addMigrateCommand(program: Command, context: CliContext): void {
  program
    .command('migrate')
    .description('migrate the database to this version and create the queue users of SLUICE_POOLS; repeatable')
    .option('--json', 'print one JSON document to stdout')
    .action(async ({ json }: { json?: boolean }) => migrateAll(context, json === true));
}

async function migrateAll(context: CliContext, json: boolean): Promise<void> {
  const { output } = context;
  // Before anything is changed: a mistake in it must not leave half of the work.
  const pools = readPools(context.config.pools);
  const { migrate } = await import('#platform/migrations');
  const onLocked = (name: string) => {
    if (!json) output.line(`${name}: waiting for a lock held by another session`);
  };
  const applied = await migrate({ url: await context.requireDatabaseUrl(), onLocked });
  const migrated: MigratedPool[] = [];
  for (const pool of pools) migrated.push({ ...pool, user: (await ensureQueueUser(context, pool)).name });
  if (json) return output.json({ applied, pools: migrated });
  for (const name of applied) output.line(`${name}: applied`);
  if (applied.length === 0) output.line('The database is up to date.');
  for (const { pool, user, models } of migrated) output.line(`pool ${pool}: ${user} may use ${models.join(', ')}`);
}
