import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { stringify } from 'yaml';
import { PlatformError } from '#common';
import type { ModelManifest } from '#model-registry/manifest';
import { type Draft, sourceFromPasted, weightFormats } from '#model-store';
import { type CatalogEntry, loadCatalog } from '#model-store/catalog';
import { decoderPurposes, isManifestPath, isSourceUri, sentencePoolings, unknownSource } from '#model-store/reference';
import type { CliContext } from '../cli-context.js';
import { assertFitsMachine, factsOf } from './draft-facts.js';
import { draftSource } from './draft-source.js';
import { installAndServe } from './install-and-serve.js';
import { readManifestFile } from './manifest-file.js';
import { pullManifests } from './pull-command.js';

export interface AddOptions {
  id?: string;
  name?: string;
  license?: string;
  tier?: string;
  inputPrice?: string;
  outputPrice?: string;
  weights?: string;
  base?: string;
  context?: string;
  purpose?: string;
  pooling?: string;
  projector?: string;
  pool?: string;
  register?: boolean;
  pull?: boolean;
  dryRun?: boolean;
  json?: boolean;
}

/**
 * Adds a model. A manifest file is registered. Any other source is inspected first, then installed, tried, registered,
 * placed and tried again through the api that runs here.
 */
export async function addModel(context: CliContext, text: string, options: AddOptions): Promise<void> {
  const source = existsSync(text) ? text : sourceFromPasted(text);
  if (isManifestPath(source)) return addManifest(context, await readManifestFile(source), options);
  const draft = await draftSource(context, await chooseSource(source), {
    id: options.id,
    name: options.name,
    license: options.license,
    tier: tierOf(options.tier),
    inputPriceUsd: priceOf(options.inputPrice, '--input-price'),
    outputPriceUsd: priceOf(options.outputPrice, '--output-price'),
    weights: choiceOf('--weights', options.weights, weightFormats),
    contextLength: contextOf(options.context),
    purpose: choiceOf('--purpose', options.purpose, decoderPurposes),
    projector: options.projector,
    pooling: choiceOf('--pooling', options.pooling, sentencePoolings),
    base: options.base,
  });
  for (const line of factsOf(draft)) context.note(line);
  if (options.dryRun || options.register || options.pull) return addManifest(context, draft.manifest, options);
  await addDraft(context, draft, options);
}

async function addDraft(context: CliContext, draft: Draft, options: AddOptions): Promise<void> {
  const { manifest } = draft;
  await assertFree(context, manifest.id);
  assertFitsMachine(draft);
  const result = await installAndServe(context, manifest, { pool: options.pool });
  if (options.json) context.output.json({ id: manifest.id, ...result, manifest });
}

/** Replacing another model by accident would also replace its prices and aliases. */
async function assertFree(context: CliContext, id: string): Promise<void> {
  const rows = (await (await context.registry())?.inventory()) ?? [];
  if (!rows.some(({ manifest }) => manifest.id === id)) return;
  const ways = `choose another --id, or remove it first: sluice models remove ${id}`;
  throw new PlatformError('INVALID_REQUEST', `A model called ${id} is registered already; ${ways}.`);
}

async function addManifest(context: CliContext, manifest: ModelManifest, options: AddOptions): Promise<void> {
  if (options.dryRun) {
    if (options.json) return context.output.json({ manifest });
    return context.output.line(stringify(manifest).trimEnd());
  }
  const registry = await context.requireRegistry();
  const changed = (await registry.upsert([manifest])).length > 0;
  const results = options.pull ? await pullManifests(context, [manifest]) : [];
  const failure = results.find((result) => result.status === 'failed');
  if (failure?.status === 'failed') throw failure.error;
  if (options.json) return context.output.json({ id: manifest.id, changed, pulled: results.length > 0, manifest });
  context.output.line(`${manifest.id}: ${changed ? 'registered' : 'already registered, unchanged'}`);
  if (!options.pull) context.output.line(`Install it with: sluice models pull ${manifest.id}`);
}

/** A file or folder takes precedence over a model of the catalog; `<folder>:<file>` names a GGUF file of a folder. */
async function chooseSource(source: string): Promise<string | CatalogEntry> {
  if (isSourceUri(source)) return source;
  if (existsSync(source) || existsSync(source.replace(/:[^:]+$/, ''))) return `file:${resolve(source)}`;
  const entry = (await loadCatalog()).find(({ id }) => id === source);
  if (entry === undefined) throw unknownSource(source);
  return entry;
}

function tierOf(text: string | undefined): ModelManifest['tier'] | undefined {
  if (text === undefined) return undefined;
  const tier = (['XS', 'S', 'M', 'L'] as const).find((name) => name === text.toUpperCase());
  if (!tier) throw new PlatformError('INVALID_REQUEST', '--tier must be XS, S, M or L.');
  return tier;
}

function choiceOf<Choice extends string>(
  option: string,
  text: string | undefined,
  choices: readonly Choice[],
): Choice | undefined {
  if (text === undefined) return undefined;
  const found = choices.find((choice) => choice === text);
  if (!found) throw new PlatformError('INVALID_REQUEST', `${option} must be one of ${choices.join(', ')}.`);
  return found;
}

function contextOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{2,7}$/.test(text)) return Number(text);
  throw new PlatformError('INVALID_REQUEST', '--context must be a number of tokens, 10 or more.');
}

function priceOf(text: string | undefined, option: string): number | undefined {
  if (text === undefined) return undefined;
  const price = Number(text);
  if (text.trim() === '' || !Number.isFinite(price) || price < 0) {
    throw new PlatformError('INVALID_REQUEST', `${option} must be a number of USD, 0 or more.`);
  }
  return price;
}
