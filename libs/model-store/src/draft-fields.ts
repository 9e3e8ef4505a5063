import { basename } from 'node:path';
import type { ModelManifest, TextConstraints } from '#model-registry/manifest';
import type { DraftOptions } from './draft.js';
import { type ConvertedFormats, precisionsOf, uniformFormats } from './source/converted-formats.js';
import type { GgufDescription } from './source/gguf-description.js';

/* Fields that drafts of several kinds of models have. */

/** Longer contexts cost memory for every slot; an operator who needs one edits the manifest. */
export const defaultContextLimit = 8_192;

/** Requests of a drafted chat model that decode together. */
export const chatSlots = 8;

/** Number of requests whose texts may share a batch. */
export const encoderSlots = 64;

export function commonFields(
  uri: string,
  name: string,
  { bytes, license }: { bytes: number; license: string | null },
  options: DraftOptions,
) {
  return {
    id: options.id ?? toId(name),
    name: options.name ?? name,
    description: '',
    created: Math.floor(Date.now() / 1_000),
    ownedBy: 'sluice',
    modelSource: pageOf(uri),
    license: license ?? options.license ?? 'unknown',
    tier: options.tier ?? tierOf(bytes),
    privacy: 'private',
    installedBytes: bytes,
    pricing: { input: price(options.inputPriceUsd), output: price(options.outputPriceUsd) },
  };
}

/** The same for a model that may have a title: the name of its file tells quantizations apart, and is its id. */
export function titledFields(
  uri: string,
  name: string,
  { title, bytes, license }: { title: string | null; bytes: number; license: string | null },
  options: DraftOptions,
) {
  return commonFields(uri, title ?? name, { bytes, license }, { ...options, id: options.id ?? toId(name) });
}

/** A context beyond the model's own, where its rotation allows one, must be asked for: it changes short texts too. */
export function chooseContext(found: GgufDescription, { contextLength }: DraftOptions): number {
  if (contextLength === undefined) return Math.min(found.contextLength, defaultContextLimit);
  return Math.min(contextLength, found.maxContextLength);
}

export function chooseFormats(found: GgufDescription, { weights }: DraftOptions): ConvertedFormats {
  return weights === undefined ? found.formats : uniformFormats(weights, found);
}

/** Returns the precision of most weights. */
export function mainQuantization(formats: ConvertedFormats): ModelManifest['capabilities']['quantization'] {
  const [precision] = precisionsOf(formats);
  if (precision === 'int4') return precision;
  return precision?.startsWith('int8') ? 'int8' : 'not-available';
}

/** Only models that were trained for shorter vectors keep their quality. */
export function truncationMembers(lengths: 'any' | number[] | undefined) {
  return {
    supportsCustomDimensions: lengths !== undefined,
    ...(Array.isArray(lengths) && { matryoshkaDimensions: lengths }),
  };
}

/** Returns the prompts for queries and documents, under the names that authors give these kinds of texts. */
export function prefixesOf(prompts: Record<string, unknown>): Record<string, string> {
  const find = (...names: string[]): unknown => names.map((name) => prompts[name]).find((text) => text !== undefined);
  const found = {
    queryPrefix: find('query', 'search_query', 'web_search_query', 'retrieval.query'),
    documentPrefix: find('document', 'passage', 'search_document', 'retrieval.passage'),
  };
  const texts = Object.entries(found).filter(([, text]) => typeof text === 'string' && text !== '');
  return Object.fromEntries(texts) as Record<string, string>;
}

function toId(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/-onnx$/, '');
}

function price(usd = 0): { usd: number; diem: number } {
  return { usd, diem: usd };
}

/** Guesses the rate-limit tier from the size on disk. */
function tierOf(bytes: number): ModelManifest['tier'] {
  if (bytes < 5e8) return 'XS';
  if (bytes < 8e9) return 'S';
  return bytes < 4e10 ? 'M' : 'L';
}

function pageOf(uri: string): string {
  const [, scheme, name] = /^(hf|npm):(.+?)(?:@[^@/:]*)?(?::.*)?$/.exec(uri) ?? [];
  // The folders of this machine are nobody's business.
  if (scheme === undefined) return uri.startsWith('file:') ? `file:${basename(uri)}` : uri;
  return scheme === 'hf' ? `https://huggingface.co/${name}` : `https://www.npmjs.com/package/${name}`;
}

/**
 * Returns the sampling recommended by the authors, read as the model host reads it. The api sends these defaults with
 * requests that set none, so any other value would silently override it. Missing values are neutral.
 */
export function constraintsOf(generation: Record<string, unknown>): TextConstraints {
  const temperature = generation['do_sample'] === false ? 0 : numberOr(generation['temperature'], 1);
  const penalty = generation['repetition_penalty'];
  return {
    temperature: { default: temperature },
    top_p: { default: numberOr(generation['top_p'], 1) },
    ...(typeof penalty === 'number' ? { repetition_penalty: { default: penalty } } : {}),
  };
}

export function numberOr(value: unknown, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise;
}

/** Returns the precision that the name of a graph states. */
export function quantizationOf(graphFile: string): ModelManifest['capabilities']['quantization'] {
  if (/[._](q4|int4|q4f16)\.onnx$/.test(graphFile)) return 'int4';
  if (/[._](quantized|q8|int8|uint8)\.onnx$/.test(graphFile)) return 'int8';
  return /[._]fp16\.onnx$/.test(graphFile) ? 'fp16' : 'not-available';
}
