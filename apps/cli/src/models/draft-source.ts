import { PlatformError } from '#common';
import { type Draft, draftManifest, type DraftOptions, type SourceSettings } from '#model-store';
import { catalogDraft, type CatalogEntry } from '#model-store/catalog';
import type { CliContext } from '../cli-context.js';
import { baseFinder } from './adapter-base.js';

/** The settings of a draft that an operator gives; a catalog may know the others. */
export interface DraftSourceOptions extends Omit<DraftOptions, 'matryoshka' | 'constraints' | 'findBase'> {
  /** Id of the installed base of an adapter. */
  base?: string;
}

/** Inspects a source, or a model of the catalog, and drafts its manifest. */
export async function draftSource(
  context: CliContext,
  source: string | CatalogEntry,
  { base, ...options }: DraftSourceOptions,
  settings: SourceSettings = context.sources,
): Promise<Draft> {
  const known = typeof source === 'string' ? undefined : catalogDraft(source);
  const uri = typeof source === 'string' ? source : source.source;
  const draft = await draftManifest(uri, settings, {
    ...known,
    ...options,
    id: options.id ?? known?.id,
    name: options.name ?? known?.name,
    license: options.license ?? known?.license,
    findBase: baseFinder(context, base),
  });
  if (base !== undefined && draft.manifest.adapterOf === undefined) {
    const name = typeof source === 'string' ? source : source.id;
    throw new PlatformError('INVALID_REQUEST', `--base is for LoRA adapters; ${name} holds a whole model.`);
  }
  return draft;
}
