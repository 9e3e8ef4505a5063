import { existsSync } from 'node:fs';
import { errorText } from '#common/values';
import { AccountsRepository, AccountsService, type BootstrapKeys } from '#accounts';
import { createLedger } from '#billing';
import { bundledCharacterFolder, installBundled, loadCharacterFolder } from '#characters';
import { parseNanos } from '#common';
import { postgresFolder } from '#platform/home';
import { StartRefusal } from '#platform/process';
import { ModelRegistryService, ModelRepository, noOnlineModels } from '#model-registry';
import {
  bundledManifestFolder,
  listedManifests,
  loadManifestFolder,
  type ModelManifest,
  selectManifests,
} from '#model-registry/manifest';
import type { LocalConfig } from '#platform/config';
import { PrismaService } from '#platform/prisma';

export interface PreparedDatabase {
  /** Null except at the first start. */
  keys: BootstrapKeys | null;
  /** Ids of the models to pull. */
  wanted: ModelManifest[];
}

/**
 * Seeds the database of a new installation with the first account, the bundled models and characters. `warn` reports manifests that
 * are skipped because they are invalid.
 */
export async function prepareDatabase(
  databaseUrl: string,
  config: LocalConfig,
  warn: (text: string) => void,
): Promise<PreparedDatabase> {
  const prisma = new PrismaService({ url: databaseUrl, applicationName: 'sluice-local', poolSize: 2 });
  try {
    const wanted = await registerModels(
      new ModelRegistryService(new ModelRepository(prisma), noOnlineModels),
      config.models,
      warn,
    );
    await installBundled(prisma, await loadCharacterFolder(bundledCharacterFolder()));
    const accounts = new AccountsService(new AccountsRepository(prisma));
    const keys = await accounts.bootstrap(config.bootstrapKeys);
    await giveFirstCredit(prisma, (await accounts.listAccounts())[0]?.id, config.firstCreditUsd);
    return { keys, wanted };
  } finally {
    await prisma.$disconnect();
  }
}

/**
 * Checks the names of models before a new home is created. Later starts check them in the database, which knows the
 * models that an operator added.
 */
export async function checkModelNames({ home, databaseUrl, models }: LocalConfig): Promise<void> {
  if (databaseUrl !== undefined || existsSync(postgresFolder(home))) return;
  const bundled = await loadManifestFolder(bundledManifestFolder(), () => undefined);
  selectNamed(bundled, models);
}

/** Runs at every start, in case an earlier one failed; the reference makes it count once. */
async function giveFirstCredit(prisma: PrismaService, accountId: string | undefined, usd: string): Promise<void> {
  const amountNano = parseNanos(usd) ?? 0n;
  if (accountId === undefined || amountNano <= 0n) return;
  const ledger = createLedger(prisma);
  const reference = 'bootstrap-credit';
  // A later start may set another amount; the first credit stays.
  if (await ledger.hasCredit(reference)) return;
  const note = 'promotional credit of the first start';
  await ledger.credit('grant', { accountId, currency: 'USD', amountNano, reference, note });
}

/** `all` serves what is installed and pulls nothing. */
async function registerModels(
  registry: ModelRegistryService,
  names: string[],
  warn: (text: string) => void,
): Promise<ModelManifest[]> {
  const bundled = await loadManifestFolder(bundledManifestFolder(), ({ message }) =>
    warn(`models/${message} It is skipped; all other models are registered.`),
  );
  const known = new Map(bundled.map((manifest) => [manifest.id, manifest]));
  for (const { manifest } of await registry.inventory()) {
    if (!known.has(manifest.id)) known.set(manifest.id, manifest);
  }
  const wanted = selectNamed([...known.values()], names);
  const wantedBundled = wanted.filter((manifest) => bundled.includes(manifest)).map(({ id }) => id);
  await registry.upsert(listedManifests(bundled, wantedBundled.join(',')));
  return wanted;
}

function selectNamed(manifests: readonly ModelManifest[], names: readonly string[]): ModelManifest[] {
  try {
    return selectManifests(manifests, names.filter((name) => name !== 'all').join(','));
  } catch (error) {
    throw new StartRefusal(`SLUICE_MODELS: ${errorText(error)}`);
  }
}
