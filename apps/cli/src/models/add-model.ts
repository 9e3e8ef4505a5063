import { readFile } from 'node:fs/promises';
import { dirname, isAbsolute, resolve } from 'node:path';
import { stringify } from 'yaml';
import { PlatformError } from '#common';
import { assertFamily } from '#inference/host';
import { type ModelManifest, parseManifest } from '#model-registry/manifest';
import { draftManifest } from '#model-store';
import type { CliContext } from '../cli-context.js';
import { pullManifests } from './pull-command.js';

export interface AddOptions {
  id?: string;
  name?: string;
  tier?: string;
  inputPrice?: string;
  outputPrice?: string;
  pull?: boolean;
  dryRun?: boolean;
  json?: boolean;
}

/** Registers a model from a manifest file or from a remote source, which is inspected first. */
export async function addModel(context: CliContext, source: string, options: AddOptions): Promise<void> {
  const isSource = /^(hf|npm):/.test(source);
  const manifest = isSource ? await draft(context, source, options) : await readManifestFile(source);
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

function draft(context: CliContext, source: string, options: AddOptions): Promise<ModelManifest> {
  return draftManifest(source, context.sources, {
    id: options.id,
    name: options.name,
    tier: tierOf(options.tier),
    inputPriceUsd: priceOf(options.inputPrice, '--input-price'),
    outputPriceUsd: priceOf(options.outputPrice, '--output-price'),
  });
}

/** Resolves relative `file:` sources against the manifest. The registry needs absolute ones. */
async function readManifestFile(path: string): Promise<ModelManifest> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw new PlatformError('INVALID_MANIFEST', `There is no file ${path}.`);
    throw error;
  });
  const manifest = parseManifest(text, path);
  assertFamily(manifest.family, manifest.id);
  const sources = manifest.sources.map((source) => {
    const [, local] = /^file:(?!\/\/)(.+)$/.exec(source.uri) ?? [];
    if (local === undefined || isAbsolute(local)) return source;
    return { ...source, uri: `file:${resolve(dirname(path), local)}` };
  });
  return { ...manifest, sources };
}

function tierOf(text: string | undefined): ModelManifest['tier'] | undefined {
  if (text === undefined) return undefined;
  const tier = (['XS', 'S', 'M', 'L'] as const).find((each) => each === text.toUpperCase());
  if (!tier) throw new PlatformError('INVALID_REQUEST', '--tier must be XS, S, M or L.');
  return tier;
}

function priceOf(text: string | undefined, option: string): number | undefined {
  if (text === undefined) return undefined;
  const price = Number(text);
  if (text.trim() === '' || !Number.isFinite(price) || price < 0) {
    throw new PlatformError('INVALID_REQUEST', `${option} must be a number of USD, 0 or more.`);
  }
  return price;
}
