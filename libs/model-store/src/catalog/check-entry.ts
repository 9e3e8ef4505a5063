import type { ManifestFile } from '#model-registry/manifest';
import { convertedEncoderBytes } from '../source/encoder-weights.js';
import { precisionsOf } from '../source/converted-formats.js';
import type { ExportFamily } from '../source/exported-model.js';
import type { GgufDescription } from '../source/gguf-description.js';
import type { GraphDescription, SourceDescription } from '../source/source-description.js';
import type { SourceSettings } from '../source/source-settings.js';
import { type CatalogEntry, catalogMemory } from './catalog.js';

/** What the hub has for an entry of the catalog. */
export interface EntryCheck {
  id: string;
  /** The commit that was listed; null if the source was not found. */
  revision: string | null;
  /** The files of the model, with the sizes and hashes of the hub. */
  files: ManifestFile[];
  /** Where the entry differs; empty: nowhere. */
  problems: string[];
}

/** Compares an entry with its source. Of weights, only the headers are read. */
export async function checkCatalogEntry(entry: CatalogEntry, settings: SourceSettings): Promise<EntryCheck> {
  const { describeSource } = await import('../source/describe-source.js');
  try {
    const found = await describeSource(entry.source, settings);
    const { uri, files } = found.source;
    return {
      id: entry.id,
      revision: /@([0-9a-f]{40})$/.exec(uri)?.[1] ?? null,
      files: [...files],
      problems: differences(entry, found),
    };
  } catch (error) {
    return { id: entry.id, revision: null, files: [], problems: [error instanceof Error ? error.message : `${error}`] };
  }
}

function differences(entry: CatalogEntry, found: SourceDescription): string[] {
  if (found.format === 'lora') return ['its source is an adapter'];
  if (found.format === 'export') {
    return [
      ...different('purpose', entry.purpose, purposes[found.exported.family]),
      ...different('architecture', entry.architecture, found.exported.config['model_type']),
    ];
  }
  if (found.format === 'onnx') return encoderDifferences(entry, found);
  if (found.format === 'gguf-encoder') {
    const { architecture, license, parameters } = found.encoder;
    return [
      ...different('purpose', entry.purpose, 'embedding'),
      ...different('architecture', entry.architecture, architecture),
      ...licenseDifference(entry, license),
      ...parametersDifference(entry, parameters),
    ];
  }
  if (found.format === 'gguf') {
    return [
      ...different('architecture', entry.architecture, found.gguf.architecture),
      ...licenseDifference(entry, found.gguf.license),
      ...decoderDifferences(entry, found.gguf),
    ];
  }
  const { generation, poolingModel, architecture } = found.checkpoint;
  if (poolingModel !== null) {
    return [
      ...different('architecture', entry.architecture, architecture),
      ...decoderDifferences(entry, found.checkpoint),
    ];
  }
  return [
    ...decoderDifferences(entry, found.checkpoint),
    ...samplingDifference('temperature', entry, generation),
    ...samplingDifference('top_p', entry, generation),
  ];
}

const textPurposes: readonly CatalogEntry['purpose'][] = ['chat', 'reasoning', 'code'];

function decoderDifferences(entry: CatalogEntry, found: GgufDescription): string[] {
  const { poolingModel, vision } = found;
  // A model that also reads images may be listed for its texts.
  const isText = textPurposes.includes(entry.purpose);
  const purpose = poolingModel?.purpose ?? (vision === null || isText ? 'text' : 'vision');
  const common = [
    ...different('purpose', isText ? 'text' : entry.purpose, purpose),
    ...different('weights', entry.weights, precisionsOf(found.formats)[0]),
    ...different('context', entry.context ?? 0, found.contextLength),
    ...parametersDifference(entry, found.parameters),
  ];
  if (poolingModel !== null) return common;
  const cache = found.cacheBytesPerToken + (found.windowCache?.bytesPerToken ?? 0);
  return [
    ...common,
    ...different('cache bytes per token', catalogMemory(entry).cacheBytesPerToken, cache),
    ...(found.hasChatTemplate ? [] : ['it has no chat template']),
  ];
}

/** Purposes of exports of several graphs. */
const purposes: Readonly<Record<ExportFamily, CatalogEntry['purpose'] | 'video'>> = {
  'vision-language': 'vision',
  matting: 'inpaint',
  musicgen: 'music',
  parakeet: 'asr',
  piper: 'tts',
  'stable-diffusion': 'image',
  'text-to-video-sd': 'video',
  whisper: 'asr',
};

const kinds: Partial<Record<CatalogEntry['purpose'], GraphDescription['kind']>> = {
  embedding: 'encoder',
  rerank: 'cross-encoder',
};

function encoderDifferences(entry: CatalogEntry, { kind, config, converts, source }: GraphDescription): string[] {
  const bytes = converts
    ? convertedEncoderBytes(source.files, config)
    : source.files.reduce((sum, file) => sum + (file.path.includes('.onnx') ? (file.bytes ?? 0) : 0), 0);
  return [
    ...different('kind', kinds[entry.purpose] ?? 'decoder', kind),
    ...different('architecture', entry.architecture, config['model_type']),
    ...parametersDifference(entry, bytes / Float32Array.BYTES_PER_ELEMENT),
  ];
}

function different(field: string, expected: string | number, found: unknown): string[] {
  return expected === found ? [] : [`${field} is ${String(found)}, not ${expected}`];
}

/** The catalog rounds, and some files store the output layer apart. */
const tolerance = 0.15;

function parametersDifference({ parameters }: CatalogEntry, found: number): string[] {
  const billions = found / 1e9;
  if (Math.abs(billions / parameters - 1) <= tolerance) return [];
  return [`parameters are ${Number(billions.toPrecision(3))} B, not ${parameters} B`];
}

/** Files name licenses in many spellings, and some only say `other`. */
function licenseDifference({ license }: CatalogEntry, found: string | null): string[] {
  if (found === null || found === 'other' || found.toLowerCase() === license.toLowerCase()) return [];
  return [`license is ${found}, not ${license}`];
}

function samplingDifference(
  name: 'temperature' | 'top_p',
  { sampling }: CatalogEntry,
  generation: Record<string, unknown>,
): string[] {
  const [expected, found] = [sampling?.[name], generation[name]];
  return expected === undefined || typeof found !== 'number' ? [] : different(name, expected, found);
}
