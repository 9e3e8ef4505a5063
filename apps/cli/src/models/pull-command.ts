import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { PlatformError } from '#common';
import { type ModelManifest, selectManifests } from '#model-registry/manifest';
import { draftManifest, pullModels, type PullResult } from '#model-store';
import { catalogDraft, type CatalogEntry, loadCatalog } from '#model-store/catalog';
import type { CliContext } from '../cli-context.js';
import { assertFitsMachine, factsOf } from './draft-facts.js';
import { readManifestFile } from './manifest-file.js';
import { findKnownModels } from './known-models.js';

export async function pullCommand(
  context: CliContext,
  names: string[],
  { json, manifests: folder }: { json?: boolean; manifests?: string },
): Promise<void> {
  const ofFolder = folder === undefined ? [] : await readManifests(folder);
  const bundled = (await findKnownModels(context)).map(({ manifest }) => manifest);
  const known = [...bundled.filter(({ id }) => !ofFolder.some((manifest) => manifest.id === id)), ...ofFolder];
  const words = names.flatMap((name) => name.split(',')).map((word) => word.trim());
  const source = words.find((word) => isModelSource(word));
  if (source !== undefined) {
    throw new PlatformError(
      'INVALID_REQUEST',
      `${source} is no id and no manifest. Add it: sluice models add ${source}`,
    );
  }
  // Also without a database, as in a container that only prepares a disk.
  const files = words.filter((word) => /\.ya?ml$/i.test(word));
  const selection = [...ofFolder, ...(await Promise.all(files.map((path) => readManifestFile(path))))];
  if (selection.length > 0 && files.length === words.length) return await pullAndPrint(context, selection, json);
  // Same meaning as in `SLUICE_MODELS`, whose value containers pass on: neither pulls files.
  const wanted = words.filter((word) => word !== 'all' && word !== 'none' && !files.includes(word));
  const open = (await loadCatalog()).filter(
    ({ id }) => wanted.includes(id) && !known.some((manifest) => manifest.id === id),
  );
  selection.push(...(await Promise.all(open.map((entry) => draftEntry(context, entry)))));
  const named = wanted.filter((word) => !open.some(({ id }) => id === word));
  const chosen = selectManifests(known, words.length > 0 ? named.join(',') : 'starter');
  const selected = [...chosen.filter(({ id }) => !selection.some((manifest) => manifest.id === id)), ...selection];
  if (selected.length === 0) {
    if (wanted.length === words.length) throw new PlatformError('MODEL_NOT_FOUND', 'Nothing to pull.');
    if (json) return context.output.json({ models: [] });
    return context.output.line('nothing to pull: "all" means what is installed, "none" means nothing');
  }
  await pullAndPrint(context, selected, json);
}

/** Every manifest of a folder, in the order of their names. Throws `INVALID_MANIFEST` naming the file. */
async function readManifests(folder: string): Promise<ModelManifest[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error;
    throw new PlatformError('INVALID_REQUEST', `There is no folder ${folder}.`);
  });
  const files = names.filter((name) => /\.ya?ml$/i.test(name)).sort();
  return Promise.all(files.map((name) => readManifestFile(join(folder, name))));
}

/** What `models add` takes: a file, a folder or an address. */
function isModelSource(word: string): boolean {
  return /^(?:hf|npm|https?|file):|\.gguf$|^\.{0,2}\//i.test(word) && !/\.ya?ml$/i.test(word);
}

/** A model of the catalog without a manifest yet. */
async function draftEntry(context: CliContext, entry: CatalogEntry): Promise<ModelManifest> {
  const draft = await draftManifest(entry.source, context.sources, catalogDraft(entry));
  for (const line of factsOf(draft)) context.note(line);
  assertFitsMachine(draft);
  return draft.manifest;
}

async function pullAndPrint(context: CliContext, selected: ModelManifest[], json = false): Promise<void> {
  const results = await pullManifests(context, selected);
  if (json) context.output.json({ models: results.map(describeResult) });
  else for (const result of results) context.output.line(sentenceOf(result));
  const failed = results.filter(({ status }) => status === 'failed');
  if (failed.length > 0) {
    throw new PlatformError('MODEL_PULL_FAILED', `Not pulled: ${failed.map(({ modelId }) => modelId).join(', ')}.`);
  }
}

/** Pulls models and registers new ones, so that clients can request them. */
export async function pullManifests(context: CliContext, manifests: ModelManifest[]): Promise<PullResult[]> {
  const reporter = context.progress();
  try {
    const results = await pullModels({
      home: context.config.home,
      manifests,
      reporter,
      signal: context.signal,
      sources: context.sources,
    });
    await registerPulled(context, manifests, results);
    return results;
  } finally {
    reporter.close();
  }
}

async function registerPulled(context: CliContext, manifests: ModelManifest[], results: PullResult[]): Promise<void> {
  const registry = await context.registry();
  if (!registry) return;
  const registered = new Set((await registry.inventory()).map(({ manifest }) => manifest.id));
  const complete = new Set(results.filter(({ status }) => status !== 'failed').map(({ modelId }) => modelId));
  await registry.upsert(manifests.filter(({ id }) => complete.has(id) && !registered.has(id)));
}

function describeResult(result: PullResult) {
  if (result.status !== 'failed') return result;
  return { modelId: result.modelId, status: result.status, error: result.error.message };
}

function sentenceOf(result: PullResult): string {
  if (result.status === 'failed') return `${result.modelId}: failed: ${result.error.message}`;
  const word = result.status === 'installed' ? 'installed in' : 'is there already:';
  return `${result.modelId}: ${word} ${result.folder}`;
}
