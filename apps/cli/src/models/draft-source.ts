import { PlatformError } from '#common';
import { type Draft, draftManifest, type SourceSettings, type WeightFormat } from '#model-store';
import { catalogueDraft, type CatalogueEntry } from '#model-store/catalogue';
import type { DecoderPurpose, SentencePooling } from '#model-store/reference';
import type { CliContext } from '../cli-context.js';
import { baseFinder } from './adapter-base.js';

export interface DraftSourceOptions {
  id?: string;
  name?: string;
  tier?: 'XS' | 'S' | 'M' | 'L';
  inputPriceUsd?: number;
  outputPriceUsd?: number;
  weights?: WeightFormat;
  contextLength?: number;
  /** Of a decoder whose files do not say it. */
  purpose?: DecoderPurpose;
  /** Of an embedding model whose files do not say it. */
  pooling?: SentencePooling;
  /** Id of the installed base of an adapter. */
  base?: string;
}

/** Inspects a source, or a model of the catalogue, and drafts its manifest. */
export async function draftSource(
  context: CliContext,
  source: string | CatalogueEntry,
  { base, ...options }: DraftSourceOptions,
  settings: SourceSettings = context.sources,
): Promise<Draft> {
  const known = typeof source === 'string' ? undefined : catalogueDraft(source);
  const uri = typeof source === 'string' ? source : source.source;
  const draft = await draftManifest(uri, settings, {
    ...known,
    ...options,
    id: options.id ?? known?.id,
    name: options.name ?? known?.name,
    findBase: baseFinder(context, base),
  });
  if (base !== undefined && draft.manifest.adapterOf === undefined) {
    const name = typeof source === 'string' ? source : source.id;
    throw new PlatformError('INVALID_REQUEST', `--base is for LoRA adapters; ${name} holds a whole model.`);
  }
  return draft;
}
