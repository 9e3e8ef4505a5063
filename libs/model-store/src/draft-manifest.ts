import { basename } from 'node:path';
import { instructionTrait, validateManifest } from '#model-registry/manifest';
import { PlatformError } from '#common';
import { defaultBlockSize, linearFormat, stored, type WeightFormat } from './convert/conversion-options.js';
import type { Draft, DraftFacts, DraftOptions } from './draft.js';
import { draftAdapter } from './draft-adapter.js';
import { draftExport } from './draft-export.js';
import {
  chatSlots,
  chooseContext,
  chooseFormats,
  commonFields,
  constraintsOf,
  defaultContextLimit,
  encoderSlots,
  mainQuantization,
  numberOr,
  prefixesOf,
  quantizationOf,
  titledFields,
  truncationMembers,
} from './draft-fields.js';
import { draftGgufEncoder, draftPoolingModel } from './draft-pooling-model.js';
import { choiceOf, smallerWeights } from './draft-hints.js';
import { convertedEncoderBytes } from './source/encoder-weights.js';
import { isRoundedAgain, storedFormat } from './convert/gguf/gguf-precision.js';
import { type ConvertedFormats, precisionName, precisionsOf } from './source/converted-formats.js';
import { convertedBytes, decoderSize, type GgufDescription } from './source/gguf-description.js';
import type { CheckpointDescription, GgufSourceDescription, GraphDescription } from './source/source-description.js';
import type { VisionSize } from '#model-memory';
import { draftVision } from './draft-vision.js';
import { projectorFile } from './source/projector.js';
import { sourceFromPasted } from './source/pasted-source.js';
import type { SourceSettings } from './source/source-settings.js';

/**
 * Drafts a manifest for a model of text, vectors, speech or music. It is a starting point for the operator. Prices are
 * those given (default 0). The context is the model's own, at most 8,192 tokens. The sampling is that of `generation_config.json`.
 * A GGUF file or safetensors become weights of the same precision unless `weights` is given.
 */
export async function draftManifest(
  source: string,
  settings: SourceSettings,
  options: DraftOptions = {},
): Promise<Draft> {
  const { describeSource } = await import('./source/describe-source.js');
  const { purpose, pooling, projector } = options;
  const uri = sourceFromPasted(source);
  const found = await describeSource(uri, settings, { purpose, pooling, projector });
  if (projector !== undefined && projector !== 'none' && (found.format !== 'gguf' || found.projector === undefined)) {
    throw new PlatformError('INVALID_REQUEST', `--projector is for GGUF files of a decoder in a folder or on the hub.`);
  }
  if (found.format === 'lora') {
    const common = (bytes: number) => commonFields(uri, found.name, { bytes, license: null }, options);
    return draftAdapter(uri, found, options, common);
  }
  if (found.format === 'gguf') {
    const { gguf: model, name, source, others } = found;
    const { poolingModel } = model;
    if (poolingModel !== null)
      return draftPoolingModel({ uri, name, source, others, converter: 'gguf', model, poolingModel }, options);
    return draftGguf(uri, found, options);
  }
  if (found.format === 'gguf-encoder') return draftGgufEncoder(uri, found, options);
  if (found.format === 'export') return draftExport(uri, found, options);
  if (found.format === 'safetensors') {
    const { checkpoint: model, name, source } = found;
    const { poolingModel } = model;
    if (poolingModel !== null)
      return draftPoolingModel({ uri, name, source, converter: 'safetensors', model, poolingModel }, options);
    return draftCheckpoint(uri, found, options);
  }
  if (options.weights !== undefined) {
    const kinds = 'GGUF files and safetensors';
    throw new PlatformError('INVALID_REQUEST', `--weights is for ${kinds}; ${uri} holds an ONNX graph.`);
  }
  return draftGraph(uri, found, options);
}

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
  const members = encoderMembers(found, contextLength, options);
  const { pooling } = found.sentence ?? {};
  const familyOptions = { ...(pooling !== undefined && { pooling }), ...prefixesOf(found.prompts ?? {}) };
  const kinds = {
    decoder,
    encoder: {
      type: 'embedding',
      family: 'text-embedding',
      ...texts,
      ...(Object.keys(familyOptions).length > 0 && { familyOptions }),
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
          maxTokens: found.kind === 'decoder' ? chatSlots * contextLength : contextLength,
        },
      },
    },
  };
}

function draftGguf(
  uri: string,
  { gguf, name, source, others = [], projector, ignored }: GgufSourceDescription,
  options: DraftOptions,
): Draft {
  const contextLength = chooseContext(gguf, options);
  const formats = chooseFormats(gguf, options);
  const bytes = convertedBytes(gguf, formats, contextLength);
  const vision = gguf.vision && draftVision(gguf.vision, options.weights);
  const capabilities = { supportsLogProbs: true, quantization: mainQuantization(formats) };
  const converterOptions = {
    weights: options.weights ?? stored,
    contextLength,
    ...(vision && { projector: projectorFile }),
  };
  const sizes = { title: gguf.title, bytes: bytes + (vision?.size.weightsBytes ?? 0), license: gguf.license };
  const manifest = validateManifest(
    {
      ...titledFields(uri, name, sizes, options),
      sources: [source, ...(projector?.source === undefined ? [] : [projector.source])],
      converter: { kind: 'gguf', options: converterOptions },
      graphFile: 'model.onnx',
      ...decoderFields(contextLength, `${name} ${gguf.title ?? ''}`),
      ...vision?.fields,
      capabilities: { ...capabilities, ...vision?.capabilities },
      constraints: options.constraints ?? constraintsOf({}),
    },
    uri,
  );
  const kind = `GGUF with ${gguf.stored}`;
  const facts = decoderFacts(gguf, { kind, formats, contextLength, vision: vision?.size });
  const more = { ...roundingOf(gguf, options.weights), ...choiceOf(uri, name, others) };
  return { manifest, facts: { ...facts, ...more, ...(ignored !== undefined && { ignored }) } };
}

/** Packed layers keep their 4 bits unless other weights are wanted, and nothing else is rounded. */
function draftCheckpoint(uri: string, found: CheckpointDescription, options: DraftOptions): Draft {
  const { checkpoint, name, source } = found;
  const contextLength = chooseContext(checkpoint, options);
  const formats = chooseFormats(checkpoint, options);
  const bytes = convertedBytes(checkpoint, formats, contextLength);
  const fields = decoderFields(contextLength, name);
  const capabilities = { supportsLogProbs: true, quantization: mainQuantization(formats) };
  const vision = checkpoint.vision && draftVision(checkpoint.vision, options.weights);
  const converterOptions = { weights: options.weights ?? stored, contextLength, ...(vision && { images: true }) };
  const manifest = validateManifest(
    {
      ...commonFields(
        uri,
        name,
        { bytes: bytes + (vision?.size.weightsBytes ?? 0), license: checkpoint.license },
        options,
      ),
      sources: [source],
      converter: { kind: 'safetensors', options: converterOptions },
      graphFile: 'model.onnx',
      ...fields,
      ...vision?.fields,
      capabilities: { ...capabilities, ...vision?.capabilities },
      constraints: constraintsOf(checkpoint.generation),
    },
    uri,
  );
  const kind = `safetensors with ${checkpoint.stored}`;
  const facts = decoderFacts(checkpoint, { kind, formats, contextLength, vision: vision?.size });
  const smaller = smallerWeights(checkpoint, { formats, contextLength, vision: checkpoint.vision });
  return { manifest, facts: { ...facts, ...smaller } };
}

interface ServedAs {
  kind: string;
  formats: ConvertedFormats;
  contextLength: number;
  /** The part that reads images. */
  vision?: VisionSize;
}

function decoderFacts(found: GgufDescription, { kind, formats, contextLength, vision }: ServedAs): DraftFacts {
  const { parameters: count } = found;
  const parameters = count < 1e9 ? `${(count / 1e6).toFixed(1)} M` : `${(count / 1e9).toFixed(1)} B`;
  const template = found.hasChatTemplate ? '' : ', no chat template';
  const images = vision === undefined ? '' : ', reads images';
  return {
    summary: `${found.architecture}, ${parameters} parameters, ${kind}${template}${images}; served as ${precisionsOf(formats).join(', ')}`,
    weightsBytes: convertedBytes(found, formats, contextLength) + (vision?.weightsBytes ?? 0),
    decoder: {
      size: { ...decoderSize(found, formats, contextLength), ...(vision && { vision }) },
      use: { slots: chatSlots, contextLength, cacheTokens: chatSlots * contextLength },
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

function decoderFields(contextLength: number, names: string) {
  return {
    type: 'text',
    family: 'decoder',
    contextLength,
    maxCompletionTokens: contextLength,
    slots: chatSlots,
    ...(followsInstructions(names) ? { traits: { [instructionTrait]: draftRank } } : {}),
  };
}

/** Rank of a new model: an operator who adds one prefers it to the bundled models. */
const draftRank = 20;

/** Publishers say so in the name, and nowhere else that can be relied on. */
function followsInstructions(name: string): boolean {
  return /(?:^|[^a-z])(?:instruct|chat|it)(?:[^a-z]|$)/i.test(name);
}

/** Model types whose positions start after the padding id (RoBERTa and similar). */
const offsetTypes = ['roberta', 'xlm-roberta', 'camembert', 'mpnet'];

function encoderMembers({ config, sentence }: GraphDescription, positions: number, { matryoshka }: DraftOptions) {
  const offset = offsetTypes.includes(String(config['model_type'])) ? 2 : 0;
  const dimensions = [config['hidden_size'], config['n_embd'], config['dim']].find((size) => typeof size === 'number');
  const { matryoshka_dimensions: listed, is_matryoshka: isFree } = config;
  const lengths = Array.isArray(listed) ? listed.filter((size): size is number => Number.isInteger(size)) : [];
  const stored = lengths.length > 0 ? lengths : isFree === true ? 'any' : undefined;
  return {
    embeddingDimensions: sentence?.dimensions ?? numberOr(dimensions, 0),
    maxInputTokens: positions - offset,
    ...truncationMembers(stored ?? matryoshka),
  };
}
