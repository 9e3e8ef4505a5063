import { PlatformError } from '#common';
import { type ModelManifest, validateManifest } from '#model-registry/manifest';
import type { FamilySize } from '#model-memory';
import { stored } from './convert/conversion-options.js';
import type { Draft, DraftOptions } from './draft.js';
import {
  chooseContext,
  chooseFormats,
  defaultContextLimit,
  encoderSlots,
  mainQuantization,
  prefixesOf,
  titledFields,
  truncationMembers,
} from './draft-fields.js';
import { choiceOf } from './draft-hints.js';
import { precisionName } from './source/converted-formats.js';
import { addedLayerBytes, type GgufDescription, poolingModelBytes } from './source/gguf-description.js';
import type { GgufEncoderSource } from './source/source-description.js';
import type { EmbedderDescription, PoolingModelDescription, RerankerDescription } from './source/pooling-model.js';

/** A decoder that writes no text, and where it comes from. */
export interface PoolingModelSource {
  uri: string;
  name: string;
  source: ModelManifest['sources'][number];
  /** Other GGUF models of the source. */
  others?: readonly string[];
  converter: 'gguf' | 'safetensors';
  model: GgufDescription;
  poolingModel: PoolingModelDescription;
}

/** Drafts an embedding model or a reranker that is made of a decoder. */
export function draftPoolingModel(
  { uri, name, source, others = [], converter, model, poolingModel }: PoolingModelSource,
  options: DraftOptions,
): Draft {
  const contextLength = chooseContext(model, options);
  const formats = chooseFormats(model, options);
  const { files: bytes, mapped } = poolingModelBytes(model, formats, contextLength);
  const { title, license } = model;
  const common = titledFields(uri, name, { title, bytes, license }, options);
  const isEmbedder = poolingModel.purpose === 'embedding';
  const fields = isEmbedder
    ? embedderFields(poolingModel, model, { maxInputTokens: contextLength, ...truncationMembers(options.matryoshka) })
    : rerankerFields(poolingModel, contextLength, common.pricing);
  const manifest = validateManifest(
    {
      ...common,
      sources: [source],
      converter: {
        kind: converter,
        options: { weights: options.weights ?? stored, contextLength, ...converterOptions(poolingModel) },
      },
      graphFile: 'model.onnx',
      slots: encoderSlots,
      capabilities: { quantization: mainQuantization(formats) },
      ...fields,
    },
    uri,
  );
  const use = isEmbedder ? `embeddings, pooling ${poolingModel.pooling}` : 'reranker';
  const kind = converter === 'gguf' ? 'GGUF' : 'safetensors';
  const precisions = [...new Set(formats.layers.map(({ format }) => precisionName(format)))].join(', ');
  const summary = `${model.architecture}, ${kind} with ${model.stored}; served as ${precisions}; ${use}`;
  const size: FamilySize = {
    family: manifest.family,
    weightsBytes: bytes - mapped + addedLayerBytes(formats),
    tokenizerBytes: source.files.find(({ path }) => path.endsWith('tokenizer.json'))?.bytes ?? 0,
    config: { num_attention_heads: model.heads, hidden_size: model.hiddenSize, intermediate_size: model.innerSize },
    maxTokens: contextLength,
  };
  const facts = { summary, weightsBytes: bytes, decoder: null, family: { size, contextLength } };
  return { manifest, facts: { ...facts, ...choiceOf(uri, name, others) } };
}

function converterOptions(poolingModel: PoolingModelDescription): Record<string, string | number> {
  if (poolingModel.purpose === 'embedding') return { purpose: poolingModel.purpose, pooling: poolingModel.pooling };
  return { purpose: poolingModel.purpose, ...poolingModel.tokens };
}

function embedderFields(poolingModel: EmbedderDescription, { hiddenSize }: GgufDescription, members: object) {
  const { normalize, endToken, dimensions, prompts } = poolingModel;
  return {
    type: 'embedding',
    family: 'text-embedding',
    familyOptions: { normalize, ...prefixesOf(prompts), ...(endToken !== null && { endToken }) },
    kindMembers: { embeddingDimensions: dimensions ?? hiddenSize, ...members },
  };
}

function rerankerFields(
  { template, instruction }: RerankerDescription,
  maxInputTokens: number,
  { input }: { input: object },
) {
  return {
    type: 'rerank',
    family: 'cross-encoder',
    familyOptions: { template, ...(instruction !== '' && { instruction }) },
    kindMembers: { maxInputTokens },
    pricing: { input },
  };
}

/** Drafts an embedding model of an encoder in a GGUF file, which is served in float32. */
export function draftGgufEncoder(
  uri: string,
  { name, source, encoder, others = [] }: GgufEncoderSource,
  options: DraftOptions,
): Draft {
  if (options.weights !== undefined && options.weights !== 'float32') {
    throw new PlatformError(
      'INVALID_REQUEST',
      `--weights is for decoders; ${uri} holds an encoder, served as float32.`,
    );
  }
  const { architecture, config, license, pooling, stored: types, title } = encoder;
  const positions = Number(config['max_position_embeddings']);
  const contextLength = Math.min(options.contextLength ?? defaultContextLimit, positions);
  const bytes = Float32Array.BYTES_PER_ELEMENT * encoder.parameters;
  const manifest = validateManifest(
    {
      ...titledFields(uri, name, { title, bytes, license }, options),
      sources: [source],
      converter: { kind: 'gguf' },
      graphFile: 'model.onnx',
      type: 'embedding',
      family: 'text-embedding',
      familyOptions: { pooling, normalize: true },
      slots: encoderSlots,
      capabilities: { quantization: 'not-available' },
      kindMembers: {
        embeddingDimensions: config['hidden_size'],
        maxInputTokens: contextLength,
        ...truncationMembers(options.matryoshka),
      },
    },
    uri,
  );
  const summary = `${architecture}, GGUF with ${types}; served as float32; embeddings, pooling ${pooling}`;
  const size = { family: manifest.family, weightsBytes: bytes, tokenizerBytes: 0, config, maxTokens: contextLength };
  const facts = { summary, weightsBytes: bytes, decoder: null, family: { size, contextLength } };
  return { manifest, facts: { ...facts, ...choiceOf(uri, name, others) } };
}
