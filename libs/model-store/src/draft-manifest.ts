import { type ModelManifest, type TextConstraints, validateManifest } from '#model-registry/manifest';
import type { SourceSettings } from './source/source-settings.js';

/** Operator settings for a model without a manifest. */
export interface DraftOptions {
  id?: string;
  name?: string;
  tier?: ModelManifest['tier'];
  /** USD per million tokens. */
  inputPriceUsd?: number;
  outputPriceUsd?: number;
}

/** Longer contexts cost memory for every slot; an operator who needs one edits the manifest. */
const defaultContextLimit = 8_192;

/**
 * Drafts a manifest for a text or embedding model on the hub or in a package. It is a starting point for the operator.
 * Prices are those given (default 0). The context is that of `config.json`, at most 8,192 tokens. The sampling is that
 * of `generation_config.json`.
 */
export async function draftManifest(
  uri: string,
  settings: SourceSettings,
  options: DraftOptions = {},
): Promise<ModelManifest> {
  const { describeSource } = await import('./source/describe-source.js');
  const found = await describeSource(uri, settings);
  const contextLength = Math.min(Number(found.config['max_position_embeddings'] ?? 2_048), defaultContextLimit);
  const bytes = found.source.files.reduce((sum, file) => sum + (file.bytes ?? 0), 0);
  const pricing = { input: price(options.inputPriceUsd), output: price(options.outputPriceUsd) };
  const quantization = quantizationOf(found.graphFile);
  const draft = {
    id: options.id ?? toId(found.name),
    name: options.name ?? found.name,
    description: '',
    created: Math.floor(Date.now() / 1_000),
    ownedBy: 'sluice',
    modelSource: pageOf(uri),
    license: found.license ?? 'unknown',
    tier: options.tier ?? tierOf(bytes),
    privacy: 'private',
    sources: [found.source],
    converter: { kind: 'none' },
    graphFile: found.graphFile,
    installedBytes: bytes,
    pricing,
  };
  const decoder = {
    type: 'text',
    family: 'decoder',
    contextLength,
    maxCompletionTokens: contextLength,
    capabilities: { supportsLogProbs: true, quantization },
    constraints: constraintsOf(found.generation),
  };
  const encoder = {
    type: 'embedding',
    family: 'text-embedding',
    slots: encoderSlots,
    capabilities: { quantization },
    kindMembers: encoderMembers(found.config, contextLength),
  };
  return validateManifest({ ...draft, ...(found.kind === 'encoder' ? encoder : decoder) }, uri);
}

/** Number of requests whose texts may share a batch. */
const encoderSlots = 64;

/** Model types whose positions start after the padding id (RoBERTa and similar). */
const offsetTypes = ['roberta', 'xlm-roberta', 'camembert', 'mpnet'];

function encoderMembers(config: Record<string, unknown>, positions: number): object {
  const offset = offsetTypes.includes(String(config['model_type'])) ? 2 : 0;
  return {
    embeddingDimensions: numberOr(config['hidden_size'], numberOr(config['dim'], 0)),
    maxInputTokens: positions - offset,
    // Only models that were trained for it keep their quality.
    supportsCustomDimensions: false,
  };
}

/**
 * Returns the sampling recommended by the authors, read as the model host reads it. The api sends these defaults with
 * requests that set none, so any other value would silently override it. Missing values are neutral.
 */
function constraintsOf(generation: Record<string, unknown>): TextConstraints {
  const temperature = generation['do_sample'] === false ? 0 : numberOr(generation['temperature'], 1);
  const penalty = generation['repetition_penalty'];
  return {
    temperature: { default: temperature },
    top_p: { default: numberOr(generation['top_p'], 1) },
    ...(typeof penalty === 'number' ? { repetition_penalty: { default: penalty } } : {}),
  };
}

function numberOr(value: unknown, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise;
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

function quantizationOf(graphFile: string): ModelManifest['capabilities']['quantization'] {
  if (/_(q4|int4|q4f16)\.onnx$/.test(graphFile)) return 'int4';
  if (/_(quantized|q8|int8|uint8)\.onnx$/.test(graphFile)) return 'int8';
  return graphFile.endsWith('_fp16.onnx') ? 'fp16' : 'not-available';
}

function pageOf(uri: string): string {
  const [, scheme, name] = /^(hf|npm):(.+?)(?:@[^@/]*)?$/.exec(uri) ?? [];
  return scheme === 'hf' ? `https://huggingface.co/${name}` : `https://www.npmjs.com/package/${name}`;
}
