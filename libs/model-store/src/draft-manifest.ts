import { type ModelManifest, type TextConstraints, validateManifest } from '#model-registry/manifest';
import type { SourceSettings } from './source/source-settings.js';

/** What an operator may say about a model that comes without a manifest. */
export interface DraftOptions {
  id?: string;
  name?: string;
  tier?: ModelManifest['tier'];
  /** USD per million tokens. */
  inputPriceUsd?: number;
  outputPriceUsd?: number;
}

/** Longer contexts cost memory for every slot; an operator who wants one says so in the manifest. */
const defaultContextLimit = 8_192;

/**
 * A manifest for a text or embedding model on the hub or in a package, from what is found there. A start to edit, not a
 * judgement: prices are those given (default 0), the context is what `config.json` says up to 8,192 tokens, the sampling
 * what `generation_config.json` says.
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

/** Requests whose texts may share a batch. */
const encoderSlots = 64;

/** Positions of RoBERTa and its kin begin behind the id of their padding. */
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
 * The sampling its authors recommend, read as the model host reads it: the api sends these defaults with requests that
 * name none, so anything else would silently replace it. What the file does not say is neutral.
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

/** By size on disk, as a first guess: it decides the rate limits. */
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
