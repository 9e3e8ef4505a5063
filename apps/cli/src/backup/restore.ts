import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import {
  assertRestorable,
  type BackupManifest,
  clearDatabase,
  refuse,
  restoreBackup,
  type RestoreResult,
  timeInName,
  verifyBackup,
} from '#backup';
import { createLedger, isConsistent, type VerifyReport } from '#billing';
import { PlatformError } from '#common';
import { startEmbeddedPostgres } from '#platform/embedded-postgres';
import { postgresFolder, secretKeyFile, writePrivate } from '#platform/home';
import { PrismaService } from '#platform/prisma';
import { startCommand } from '#platform/process';
import { createArtifactStore } from '#storage';
import type { CliContext } from '../cli-context.js';
import { withLockedHome, withServer } from './installation.js';
import { assertReadable, forgetKey, homeFileNames } from './keys.js';

interface RestoreCommandOptions {
  replace?: boolean;
  withoutKey?: boolean;
  json?: boolean;
}

interface Restored extends RestoreResult {
  report: VerifyReport;
  /** Where to find what was in the way. */
  setAside: string[];
}

/** `sluice restore <file>`: changes nothing before the whole file was checked. */
export async function restore(context: CliContext, path: string, options: RestoreCommandOptions): Promise<void> {
  const { replace = false, withoutKey = false, json = false } = options;
  const file = resolve(path);
  context.note(`checking ${file}`);
  const manifest = await verifyBackup(file, context.signal);
  await assertRestorable(manifest);
  await assertReadable(context, manifest, { replace, withoutKey });
  const job = new Restore(context, file, manifest, { replace, withoutKey });
  const restored = job.changesHome ? await withLockedHome(context, () => job.run()) : await job.run();
  const consistent = isConsistent(restored.report);
  if (json) printJson(context, file, restored, consistent);
  else print(context, manifest, restored, consistent);
  if (!consistent) {
    throw new PlatformError(
      'UNKNOWN_ERROR',
      'The backup is restored, but its ledger is broken: see `sluice ledger verify`.',
    );
  }
  const { databaseUrl, queueUrl, redisUrl } = context.config;
  if ((queueUrl ?? redisUrl)?.startsWith('redis')) {
    context.warn('the queue may hold jobs that the backup does not have: run FLUSHDB in its Redis before you start.');
  }
  context.next(databaseUrl === undefined ? startCommand : 'sluice migrate');
}

class Restore {
  private readonly setAside: string[] = [];

  constructor(
    private readonly context: CliContext,
    private readonly file: string,
    private readonly manifest: BackupManifest,
    private readonly options: { replace: boolean; withoutKey: boolean },
  ) {}

  /** False in a cluster, whose operator keeps the key. */
  get changesHome(): boolean {
    const { databaseUrl, secretKey } = this.context.config;
    return databaseUrl === undefined || (secretKey === undefined && this.manifest.homeFiles.length > 0);
  }

  async run(): Promise<Restored> {
    const { databaseUrl } = this.context.config;
    const restored = databaseUrl === undefined ? await this.intoHome() : await this.intoDatabase(databaseUrl);
    return { ...restored, setAside: this.setAside };
  }

  private async intoDatabase(databaseUrl: string): Promise<Omit<Restored, 'setAside'>> {
    const { namespace } = this.context.config;
    const queueSchema = `${namespace}_queue`;
    const schema = await clearDatabase(databaseUrl, { replace: this.options.replace, queueSchema });
    if (schema !== null) this.setAside.push(`schema ${schema}`);
    const restored = await this.load(databaseUrl);
    await this.writeHomeFiles(restored);
    return restored;
  }

  /** The database is made beside its place, so that an interrupted restore leaves the home as it was. */
  private async intoHome(): Promise<Omit<Restored, 'setAside'>> {
    const { home } = this.context.config;
    const folder = postgresFolder(home);
    if (existsSync(folder) && !this.options.replace) {
      throw refuse(
        `${home} is not empty. Set SLUICE_HOME to a new folder, or add --replace: what is there stays beside it, under ` +
          'another name.',
      );
    }
    const partial = `${folder}.restoring`;
    await removeDatabase(partial);
    try {
      const restored = await withServer(partial, (url) => this.load(url));
      await this.moveAside(folder);
      await this.writeHomeFiles(restored);
      await rename(partial, folder);
      return restored;
    } catch (error) {
      await rm(partial, { recursive: true, force: true });
      throw error;
    }
  }

  private async load(databaseUrl: string): Promise<Omit<Restored, 'setAside'>> {
    const { context, file, manifest } = this;
    const store = createArtifactStore(context.config.storage);
    try {
      const result = await restoreBackup({
        ...{ file, manifest, databaseUrl, store, signal: context.signal },
        onProgress: (line) => context.note(line),
      });
      context.note('verifying the ledger');
      return { ...result, report: await this.examine(databaseUrl) };
    } finally {
      await store.close();
    }
  }

  private async examine(databaseUrl: string): Promise<VerifyReport> {
    const prisma = new PrismaService({ url: databaseUrl, applicationName: 'sluice-cli', poolSize: 1 });
    try {
      if (this.options.withoutKey) await forgetKey(prisma);
      return await createLedger(prisma).verify();
    } finally {
      await prisma.$disconnect();
    }
  }

  private async writeHomeFiles({ homeFiles }: RestoreResult): Promise<void> {
    const { home, secretKey } = this.context.config;
    // An operator who passes the key keeps it elsewhere.
    if (secretKey !== undefined) return;
    for (const { name, content } of homeFiles.filter((file) => homeFileNames.includes(file.name))) {
      await this.moveAside(join(home, name));
      await writePrivate(join(home, name), content);
    }
  }

  private async moveAside(path: string): Promise<void> {
    if (!existsSync(path)) return;
    const aside = `${path}.replaced-${timeInName()}`;
    await rename(path, aside);
    this.setAside.push(aside);
  }
}

/** Removes what an interrupted restore left behind. Its server may still run, which the next one on its folder stops. */
async function removeDatabase(folder: string): Promise<void> {
  if (existsSync(join(folder, 'PG_VERSION'))) await (await startEmbeddedPostgres({ dataFolder: folder })).stop();
  await rm(folder, { recursive: true, force: true });
}

function printJson({ output }: CliContext, file: string, restored: Restored, consistent: boolean): void {
  const { rows, objects, expiredObjects, migrations, setAside, report } = restored;
  output.json({ file, rows, objects, expiredObjects, migrations, setAside, ledger: { consistent, ...report } });
}

function print(
  { config, output }: CliContext,
  manifest: BackupManifest,
  { rows, objects, expiredObjects, migrations, homeFiles, setAside, report }: Restored,
  consistent: boolean,
): void {
  const { accounts, transactions, openReservations } = report.figures;
  const key =
    homeFiles.length > 0 && config.secretKey === undefined ? secretKeyFile(config.home) : 'those of this machine';
  output.line(`restored the backup of ${manifest.createdAt}, made by version ${manifest.version}`);
  output.line(`database   ${rows} rows in ${manifest.tables.length} tables`);
  output.line(`objects    ${objects}${expiredObjects > 0 ? `; ${expiredObjects} have expired since` : ''}`);
  output.line(`keys       ${key}`);
  output.line(`migrated   ${migrations.length} migrations that are newer than the backup`);
  output.line(`ledger     ${consistent ? 'ok' : 'BROKEN'}: ${accounts} accounts, ${transactions} transactions`);
  output.line(`requests   ${openReservations} were open: ops runs what waited and ends the rest free of charge`);
  for (const name of setAside) output.line(`replaced   ${name}`);
}
