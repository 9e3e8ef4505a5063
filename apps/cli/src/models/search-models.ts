import { PlatformError } from '#common';
import type { ModelManifest } from '#model-registry/manifest';
import { familyPeakBytes, runtimeBytes } from '#model-memory';
import { formatBytes } from '#model-store';
import { type CatalogEntry, catalogMemory, catalogPurposes, loadCatalog } from '#model-store/catalog';
import type { CliContext } from '../cli-context.js';
import { usableBytes } from './draft-facts.js';
import { findKnownModels, type KnownModel } from './known-models.js';
import { hintsFor, matchesWords, noMatch } from './search-words.js';

export interface SearchOptions {
  purpose?: string;
  fits?: boolean;
  check?: boolean;
  json?: boolean;
}

/** A model that can be added or pulled by its id. */
interface FoundModel {
  id: string;
  name: string;
  purpose: string;
  about: string;
  license: string;
  /** In billions. */
  parameters: number | null;
  active: number | null;
  context: number | null;
  weights: string | null;
  memoryBytes: number;
  cacheBytesPerToken: number | null;
  tools: string | null;
  gated: boolean;
  tested: string;
  fits: boolean;
  state: 'installed' | 'bundled' | 'open';
  source: string;
}

/** Lists the bundled models and the catalog of open ones; each word must occur in what is shown of a model. */
export async function searchModels(context: CliContext, words: string[], options: SearchOptions): Promise<void> {
  const purpose = purposeOf(options.purpose);
  const usable = usableBytes();
  const known = await findKnownModels(context);
  const bundled = known.filter((model) => model.bundled).map((model) => ofManifest(model, usable));
  const added = new Set(known.filter(({ installed }) => installed !== null).map(({ manifest }) => manifest.id));
  const open = (await loadCatalog()).map((entry) => ofEntry(entry, { isInstalled: added.has(entry.id), usable }));
  const models = [...bundled, ...open].filter(
    (model) =>
      (purpose === null || model.purpose === purpose) && (!options.fits || model.fits) && matchesWords(model, words),
  );
  if (options.check) return await checkModels(context, models, options);
  if (options.json) return context.output.json({ models });
  if (models.length === 0) {
    for (const line of noMatch(words, knownPurposes)) context.output.line(line);
    return;
  }
  printModels(context, models, usable);
  for (const hint of hintsFor(words)) context.output.line(hint);
}

async function checkModels(context: CliContext, models: FoundModel[], { json }: SearchOptions): Promise<void> {
  const { checkFoundEntries } = await import('./check-catalog.js');
  const entries = (await loadCatalog()).filter(({ id }) => models.some((model) => model.id === id));
  if (entries.length === 0)
    throw new PlatformError('INVALID_REQUEST', 'No open model matches, so nothing was checked.');
  await checkFoundEntries(context, entries, { json });
}

function printModels({ output }: CliContext, models: FoundModel[], usable: number): void {
  output.table(
    ['ID', 'PURPOSE', 'PARAMETERS', 'MEMORY', 'FITS', 'CONTEXT', 'LICENSE', 'TESTED', 'STATE', 'ABOUT'],
    models.map((model) => [
      model.id,
      model.purpose,
      parametersOf(model),
      formatBytes(model.memoryBytes),
      model.fits ? 'yes' : 'no',
      model.context === null ? '–' : String(model.context),
      model.license,
      model.tested,
      model.gated ? `${model.state}, gated` : model.state,
      model.about,
    ]),
  );
  output.line('');
  output.line(`MEMORY is about, without the cache of conversations; FITS: ${formatBytes(usable)} of this machine.`);
  output.line('TESTED: run here, by a tiny model of its architecture (reference), or not at all (none).');
  const example = models.find(({ state, fits }) => state === 'open' && fits) ?? models[0];
  if (example !== undefined) {
    const command = example.state === 'open' ? 'add' : 'pull';
    output.line(`Install one with: sluice models ${command} ${example.id}`);
  }
}

function purposeOf(text: string | undefined): string | null {
  if (text === undefined) return null;
  if (knownPurposes.includes(text)) return text;
  throw new PlatformError('INVALID_REQUEST', `--purpose must be one of ${knownPurposes.join(', ')}.`);
}

const purposeOfType: Readonly<Record<ModelManifest['type'], CatalogEntry['purpose'] | ModelManifest['type']>> = {
  text: 'chat',
  embedding: 'embedding',
  rerank: 'rerank',
  tts: 'tts',
  asr: 'asr',
  image: 'image',
  inpaint: 'inpaint',
  upscale: 'upscale',
  video: 'video',
  music: 'music',
};

const knownPurposes: readonly string[] = [...new Set([...catalogPurposes, ...Object.values(purposeOfType)])];

/** The files of a model that may not be installed. */
const unreadFiles = { tokenizerBytes: 0, config: {}, maxTokens: 0 };

function ofManifest({ manifest, installed }: KnownModel, usable: number): FoundModel {
  const weightsBytes = manifest.installedBytes ?? 0;
  const memoryBytes = familyPeakBytes({ ...unreadFiles, family: manifest.family, weightsBytes });
  return {
    id: manifest.id,
    name: manifest.name,
    purpose: purposeOfType[manifest.type],
    about: manifest.description.replaceAll('\n', ' ').trim(),
    license: manifest.license ?? 'unknown',
    parameters: null,
    active: null,
    context: manifest.contextLength ?? null,
    weights: null,
    memoryBytes,
    cacheBytesPerToken: null,
    tools: manifest.toolStyle ?? null,
    gated: false,
    tested: 'run',
    fits: memoryBytes <= usable,
    state: installed === null ? 'bundled' : 'installed',
    source: manifest.sources[0]?.uri ?? '',
  };
}

function ofEntry(entry: CatalogEntry, { isInstalled, usable }: { isInstalled: boolean; usable: number }): FoundModel {
  const { weightsBytes, cacheBytesPerToken } = catalogMemory(entry);
  const pixels = (entry.side ?? 0) ** 2;
  const memoryBytes =
    pixels > 0
      ? familyPeakBytes({ ...unreadFiles, family: 'matting', weightsBytes, pixels })
      : Math.round(weightsBytes) + runtimeBytes;
  return {
    id: entry.id,
    name: entry.name,
    purpose: entry.purpose,
    about: entry.about,
    license: entry.license,
    parameters: entry.parameters,
    active: entry.active ?? null,
    context: entry.context ?? null,
    weights: entry.weights,
    memoryBytes,
    cacheBytesPerToken: cacheBytesPerToken === 0 ? null : cacheBytesPerToken,
    tools: entry.tools ?? null,
    gated: entry.gated ?? false,
    tested: entry.tested,
    fits: memoryBytes <= usable,
    state: isInstalled ? 'installed' : 'open',
    source: entry.source,
  };
}

function parametersOf({ parameters, active }: FoundModel): string {
  if (parameters === null) return '–';
  const all = parameters < 1 ? `${Math.round(parameters * 1_000)} M` : `${parameters} B`;
  return active === null ? all : `${all}, ${active} B active`;
}
