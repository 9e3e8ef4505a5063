import { basename } from 'node:path';
import { instructionTrait, type ModelManifest, type TextConstraints, validateManifest } from '#model-registry/manifest';
import { PlatformError } from '#common';
import { defaultBlockSize, linearFormat, stored, type WeightFormat } from './convert/conversion-options.js';
import type { Draft, DraftFacts, DraftOptions } from './draft.js';
import { draftAdapter } from './draft-adapter.js';
import { choiceOf, smallerWeights } from './draft-hints.js';
import { convertedEncoderBytes } from './source/encoder-weights.js';
import { isRoundedAgain, storedFormat } from './convert/gguf/gguf-precision.js';
import { type ConvertedFormats, precisionName, precisionsOf, uniformFormats } from './source/converted-formats.js';
import { convertedBytes, decoderSize, type GgufDescription } from './source/gguf-description.js';
import type { CheckpointDescription, GgufSourceDescription, GraphDescription } from './source/source-description.js';
import { sourceFromPasted } from './source/pasted-source.js';
import type { SourceSettings } from './source/source-settings.js';

/** Longer contexts cost memory for every slot; an operator who needs one edits the manifest. */
const defaultContextLimit = 8_192;

/**
 * Drafts a manifest for a text, embedding or rerank model. It is a starting point for the operator. Prices are those given
 * (default 0). The context is the model's own, at most 8,192 tokens. The sampling is that of `generation_config.json`.
 * A GGUF file or safetensors become weights of the same precision unless `weights` is given.
 */
export async function draftManifest(
  source: string,
  settings: SourceSettings,
  options: DraftOptions = {},
): Promise<Draft> {
  const { describeSource } = await import('./source/describe-source.js');
  const uri = sourceFromPasted(source);
  const found = await describeSource(uri, settings);
  if (found.format === 'lora') {
    const common = (bytes: number) => commonFields(uri, found.name, { bytes, license: null }, options);
    return draftAdapter(uri, found, options, common);
  }
  if (found.format === 'gguf') return draftGguf(uri, found, options);
  if (found.format === 'safetensors') return draftCheckpoint(uri, found, options);
  if (options.weights !== undefined) {
    const kinds = 'GGUF files and safetensors';
    throw new PlatformError('INVALID_REQUEST', `--weights is for ${kinds}; ${uri} holds an ONNX graph.`);
  }
  return draftGraph(uri, found, options);
}

/** Requests of a drafted chat model that decode together. */
const draftSlots = 8;

function draftGraph(uri: string, found: GraphDescription, options: DraftOptions): Draft {
  const { max_position_embeddings: positions, n_positions: named } = found.config;
  const contextLength = Math.min(Number(positions ?? named ?? 2_048), defaultContextLimit);
  const bytes = found.converts
    ? convertedEncoderBytes(found.source.files, found.config)
    : found.source.files.reduce((sum, file) => sum + (file.bytes ?? 0), 0);
  const quantization = quantizationOf(found.graphFile);
  const tokenizerBytes = found.source.files.find(({ path }) => basename(path) === 'tokenizer.json')?.bytes ?? 0;
  const draft = {
    ...commonFields(uri, found.name, { bytes, license: found.license }, options),
    sources: [found.source],
    converter: { kind: found.converts ? 'bert' : 'none' },
    graphFile: found.graphFile,
  };
  const decoder = {
    ...decoderFields(contextLength, found.name),
    capabilities: { supportsLogProbs: true, quantization },
    constraints: constraintsOf(found.generation),
  };
  const texts = { slots: encoderSlots, capabilities: { quantization } };
  const members = encoderMembers(found.config, contextLength);
  const prefixes = prefixesOf(found.prompts ?? {});
  const kinds = {
    decoder,
    encoder: {
      type: 'embedding',
      family: 'text-embedding',
      ...texts,
      ...(Object.keys(prefixes).length > 0 && { familyOptions: prefixes }),
      kindMembers: members,
    },
    'cross-encoder': {
      type: 'rerank',
      family: 'cross-encoder',
      ...texts,
      pricing: { input: draft.pricing.input },
      kindMembers: { maxInputTokens: members.maxInputTokens },
    },
  };
  const manifest = validateManifest({ ...draft, ...kinds[found.kind] }, uri);
  const type = typeof found.config['model_type'] === 'string' ? `${found.config['model_type']}, ` : '';
  return {
    manifest,
    facts: {
      summary: `${type}${found.converts ? 'safetensors, served as float32' : `ONNX graph ${found.graphFile}`}`,
      weightsBytes: bytes,
      decoder: null,
      family: {
        contextLength,
        size: {
          family: manifest.family,
          weightsBytes: bytes - tokenizerBytes,
          tokenizerBytes,
          config: found.config,
          maxTokens: found.kind === 'decoder' ? draftSlots * contextLength : contextLength,
        },
      },
    },
  };
}

function draftGguf(
  uri: string,
  { gguf, name, source, others = [] }: GgufSourceDescription,
  options: DraftOptions,
): Draft {
  const contextLength = chooseContext(gguf, options);
  const formats = chooseFormats(gguf, options);
  const bytes = convertedBytes(gguf, formats, contextLength);
  const manifest = validateManifest(
    {
      ...commonFields(
        uri,
        gguf.title ?? name,
        { bytes, license: gguf.license },
        {
          ...options,
          // The file's name, which tells quantisations apart, and not its title.
          id: options.id ?? toId(name),
        },
      ),
      sources: [source],
      converter: { kind: 'gguf', options: { weights: options.weights ?? stored, contextLength } },
      graphFile: 'model.onnx',
      ...decoderFields(contextLength, `${name} ${gguf.title ?? ''}`),
      capabilities: { supportsLogProbs: true, quantization: mainQuantization(formats) },
      constraints: options.constraints ?? constraintsOf({}),
    },
    uri,
  );
  const kind = `GGUF with ${gguf.stored}`;
  const facts = decoderFacts(gguf, { kind, formats, contextLength });
  return { manifest, facts: { ...facts, ...roundingOf(gguf, options.weights), ...choiceOf(uri, name, others) } };
}

/** Packed layers keep their 4 bits unless other weights are wanted, and nothing else is rounded. */
function draftCheckpoint(uri: string, found: CheckpointDescription, options: DraftOptions): Draft {
  const { checkpoint, name, source } = found;
  const contextLength = chooseContext(checkpoint, options);
  const formats = chooseFormats(checkpoint, options);
  const bytes = convertedBytes(checkpoint, formats, contextLength);
  const manifest = validateManifest(
    {
      ...commonFields(uri, name, { bytes, license: checkpoint.license }, options),
      sources: [source],
      converter: { kind: 'safetensors', options: { weights: options.weights ?? stored, contextLength } },
      graphFile: 'model.onnx',
      ...decoderFields(contextLength, name),
      capabilities: { supportsLogProbs: true, quantization: mainQuantization(formats) },
      constraints: constraintsOf(checkpoint.generation),
    },
    uri,
  );
  const kind = `safetensors with ${checkpoint.stored}`;
  const facts = decoderFacts(checkpoint, { kind, formats, contextLength });
  return { manifest, facts: { ...facts, ...smallerWeights(checkpoint, { formats, contextLength }) } };
}

/** A context beyond the model's own, where its rotation allows one, must be asked for: it changes short texts too. */
function chooseContext(found: GgufDescription, { contextLength }: DraftOptions): number {
  if (contextLength === undefined) return Math.min(found.contextLength, defaultContextLimit);
  return Math.min(contextLength, found.maxContextLength);
}

function chooseFormats(found: GgufDescription, { weights }: DraftOptions): ConvertedFormats {
  return weights === undefined ? found.formats : uniformFormats(weights, found);
}

/** That of most weights. */
function mainQuantization(formats: ConvertedFormats): ModelManifest['capabilities']['quantization'] {
  const [precision] = precisionsOf(formats);
  if (precision === 'int4') return precision;
  return precision?.startsWith('int8') ? 'int8' : 'not-available';
}

interface ServedAs {
  kind: string;
  formats: ConvertedFormats;
  contextLength: number;
}

function decoderFacts(found: GgufDescription, { kind, formats, contextLength }: ServedAs): DraftFacts {
  const { parameters: count } = found;
  const parameters = count < 1e9 ? `${(count / 1e6).toFixed(1)} M` : `${(count / 1e9).toFixed(1)} B`;
  const template = found.hasChatTemplate ? '' : ', no chat template';
  return {
    summary: `${found.architecture}, ${parameters} parameters, ${kind}${template}; served as ${precisionsOf(formats).join(', ')}`,
    weightsBytes: convertedBytes(found, formats, contextLength),
    decoder: {
      size: decoderSize(found, formats, contextLength),
      use: { slots: draftSlots, contextLength, cacheTokens: draftSlots * contextLength },
    },
  };
}

/** Blocks of a type without a kernel of its own are rounded again, which the name of the file does not say. */
function roundingOf({ layerTypes }: GgufDescription, weights?: WeightFormat): { rounding?: string } {
  const rounded = layerTypes.flatMap((type) => {
    const format =
      weights === undefined ? storedFormat(type, defaultBlockSize) : linearFormat(weights, defaultBlockSize);
    return isRoundedAgain(type, format) ? [`${type.name} to ${precisionName(format)}`] : [];
  });
  if (rounded.length === 0) return {};
  const exact = weights === 'int8' ? '' : '; --weights int8 loses less and takes more memory';
  return { rounding: `rounded a second time: ${rounded.join(', ')}${exact}` };
}

function commonFields(
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

function decoderFields(contextLength: number, names: string) {
  return {
    type: 'text',
    family: 'decoder',
    contextLength,
    maxCompletionTokens: contextLength,
    slots: draftSlots,
    ...(followsInstructions(names) ? { traits: { [instructionTrait]: draftRank } } : {}),
  };
}

/** Rank of a new model: an operator who adds one prefers it to the bundled models. */
const draftRank = 20;

/** Publishers say so in the name, and nowhere else that can be relied on. */
function followsInstructions(name: string): boolean {
  return /(?:^|[^a-z])(?:instruct|chat|it)(?:[^a-z]|$)/i.test(name);
}

/** Number of requests whose texts may share a batch. */
const encoderSlots = 64;

/** Model types whose positions start after the padding id (RoBERTa and similar). */
const offsetTypes = ['roberta', 'xlm-roberta', 'camembert', 'mpnet'];

function encoderMembers(config: Record<string, unknown>, positions: number) {
  const offset = offsetTypes.includes(String(config['model_type'])) ? 2 : 0;
  const dimensions = [config['hidden_size'], config['n_embd'], config['dim']].find((size) => typeof size === 'number');
  const { matryoshka_dimensions: listed, is_matryoshka: isFree } = config;
  const matryoshka = Array.isArray(listed) ? listed.filter((size) => Number.isInteger(size)) : [];
  return {
    embeddingDimensions: numberOr(dimensions, 0),
    maxInputTokens: positions - offset,
    // Only models that were trained for it keep their quality.
    supportsCustomDimensions: matryoshka.length > 0 || isFree === true,
    ...(matryoshka.length > 0 && { matryoshkaDimensions: matryoshka }),
  };
}

/** What the authors put in front of queries and documents, under the names that they give these kinds of texts. */
function prefixesOf(prompts: Record<string, unknown>): Record<string, string> {
  const find = (...names: string[]): unknown => names.map((name) => prompts[name]).find((text) => text !== undefined);
  const found = {
    queryPrefix: find('query', 'search_query', 'retrieval.query'),
    documentPrefix: find('document', 'passage', 'search_document', 'retrieval.passage'),
  };
  const texts = Object.entries(found).filter(([, text]) => typeof text === 'string' && text !== '');
  return Object.fromEntries(texts) as Record<string, string>;
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
  const [, scheme, name] = /^(hf|npm):(.+?)(?:@[^@/:]*)?(?::.*)?$/.exec(uri) ?? [];
  // The folders of this machine are nobody's business.
  if (scheme === undefined) return uri.startsWith('file:') ? `file:${basename(uri)}` : uri;
  return scheme === 'hf' ? `https://huggingface.co/${name}` : `https://www.npmjs.com/package/${name}`;
}
