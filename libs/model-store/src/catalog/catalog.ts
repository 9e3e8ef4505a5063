import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { bundledManifestFolder, type TextConstraints, type ToolStyleName } from '#model-registry/manifest';
import type { DraftOptions } from '../draft.js';
import type { WeightFormat } from '../convert/conversion-options.js';

export const catalogPurposes = [
  'chat',
  'reasoning',
  'code',
  'vision',
  'embedding',
  'rerank',
  'asr',
  'music',
  'tts',
  'image',
  'inpaint',
] as const;
export type CatalogPurpose = (typeof catalogPurposes)[number];

/** `run`: its weights were run here; `reference`: its architecture, by a tiny model of the reference. */
export type CatalogTest = 'run' | 'reference' | 'none';

/** An open model that can be added by its id. */
export interface CatalogEntry {
  id: string;
  name: string;
  purpose: CatalogPurpose;
  /** A sentence. */
  about: string;
  /** As for `draftManifest`. */
  source: string;
  license: string;
  /** As GGUF or config.json name it; of exported graphs the `model_type`, or the class that says more. */
  architecture: string;
  /** In billions; `active` are those that one token uses. */
  parameters: number;
  active?: number;
  /** As what it is served. */
  weights: Exclude<WeightFormat, 'int8-channel'>;
  /** Longest context of the model, in tokens; absent: it reads none, or only limits seconds. */
  context?: number;
  /** Side of the images that a matting network computes, in pixels. */
  side?: number;
  /** Layers that attend, heads of keys and values, size of a head; of decoders only. */
  cache?: [layers: number, keyValueHeads: number, headSize: number];
  /** What the authors recommend. */
  sampling?: { temperature: number; top_p: number };
  tools?: ToolStyleName;
  /** Lengths that its vectors may be truncated to: any, or these. */
  matryoshka?: 'any' | number[];
  /** Its license must be accepted on the hub. */
  gated?: boolean;
  tested: CatalogTest;
}

/** The open models that this release knows, in the order of its file. */
export async function loadCatalog(): Promise<CatalogEntry[]> {
  const file = join(bundledManifestFolder(), 'catalog', 'open-models.yaml');
  return parse(await readFile(file, 'utf8')) as CatalogEntry[];
}

/** Bytes per parameter in memory, with scales and what the runtime adds to blocks (`read-decoder-size.ts`). */
const bytesPerParameter = { int4: 0.875, int8: 1.375, float32: 4 } as const;

/** The same of files in Q4_K_M, whose minima are kept beside the scales, and some layers in 8 bits. */
const bytesPerMixed = 1.12;

/** Memory of its weights, and of the keys and values of one token; about, from its published figures. */
export function catalogMemory({ source, parameters, weights, cache }: CatalogEntry): {
  weightsBytes: number;
  cacheBytesPerToken: number;
} {
  const [layers, heads, size] = cache ?? [0, 0, 0];
  const bytes = weights === 'int4' && source.endsWith(':Q4_K_M') ? bytesPerMixed : bytesPerParameter[weights];
  // Keys and values, 4 bytes each.
  return { weightsBytes: parameters * 1e9 * bytes, cacheBytesPerToken: 8 * layers * heads * size };
}

/** What the entry knows better than its files: GGUF files carry no sampling, and often no license. */
export function catalogDraft({ id, name, license, sampling, matryoshka }: CatalogEntry): DraftOptions {
  const constraints: TextConstraints | undefined = sampling && {
    temperature: { default: sampling.temperature },
    top_p: { default: sampling.top_p },
  };
  return { id, name, license, ...(constraints && { constraints }), ...(matryoshka && { matryoshka }) };
}
