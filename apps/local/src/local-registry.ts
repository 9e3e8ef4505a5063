import { AccountsService, type BootstrapKeys } from '#accounts';
import { LedgerService } from '#billing';
import { parseNanos } from '#common';
import { ModelRegistryService, noOnlineModels } from '#model-registry';
import {
  bundledManifestFolder,
  listedManifests,
  loadManifestFolder,
  type ModelManifest,
  selectManifests,
} from '#model-registry/manifest';
import type { LocalConfig } from '#platform/config';
import { PrismaService } from '#platform/prisma';
import { StartRefusal } from './start-refusal.js';

export interface PreparedDatabase {
  /** Null except at the first start. */
  keys: BootstrapKeys | null;
  /** Ids of the models to pull. */
  wanted: ModelManifest[];
}

/**
 * Seeds the database of a new installation with the first account and the bundled models. `warn` reports manifests that
 * are skipped because they are invalid.
 */
export async function prepareDatabase(
  databaseUrl: string,
  config: LocalConfig,
  warn: (text: string) => void,
): Promise<PreparedDatabase> {
  const prisma = new PrismaService({ url: databaseUrl, applicationName: 'sluice-local', poolSize: 2 });
  try {
    const wanted = await registerModels(new ModelRegistryService(prisma, noOnlineModels), config.models, warn);
    const accounts = new AccountsService(prisma);
    const keys = await accounts.bootstrap(config.bootstrapKeys);
    await giveFirstCredit(prisma, (await accounts.listAccounts())[0]?.id, config.firstCreditUsd);
    return { keys, wanted };
  } finally {
    await prisma.$disconnect();
  }
}

/** Runs at every start, in case an earlier one failed; the reference makes it count once. */
async function giveFirstCredit(prisma: PrismaService, accountId: string | undefined, usd: string): Promise<void> {
  const amountNano = parseNanos(usd) ?? 0n;
  if (accountId === undefined || amountNano <= 0n) return;
  const ledger = new LedgerService(prisma);
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
  const selection = names.filter((name) => name !== 'all').join(',');
  const bundled = await loadManifestFolder(bundledManifestFolder(), ({ message }) =>
    warn(`models/${message} It is skipped; all other models are registered.`),
  );
  const known = new Map(bundled.map((manifest) => [manifest.id, manifest]));
  for (const { manifest } of await registry.inventory()) {
    if (!known.has(manifest.id)) known.set(manifest.id, manifest);
  }
  try {
    const wanted = selectManifests([...known.values()], selection);
    const wantedBundled = wanted.filter((manifest) => bundled.includes(manifest)).map(({ id }) => id);
    await registry.upsert(listedManifests(bundled, wantedBundled.join(',')));
    return wanted;
  } catch (error) {
    throw new StartRefusal(`SLUICE_MODELS: ${error instanceof Error ? error.message : String(error)}`);
  }
}
