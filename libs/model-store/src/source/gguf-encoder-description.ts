import type { ByteSource } from '../convert/byte-source.js';
import type { EncoderConfig } from '../convert/bert/encoder-config.js';
import { isGgufEncoder, readGgufEncoder } from '../convert/bert/gguf-encoder.js';
import { valuesOf } from '../convert/gguf/gguf-precision.js';
import { openGguf, type OpenedGguf } from '../convert/gguf/gguf-shards.js';
import { readGgufEncoderTokenizer } from '../convert/gguf/gguf-encoder-tokenizer.js';
import { openGraph } from '../convert/gguf-encoder.conversion.js';
import { ggufPooling } from '../convert/sentence/gguf-pooling-model.js';
import { unknownPooling } from '../convert/sentence/pooling-options.js';
import type { SentencePooling } from '../convert/sentence/sentence-head.js';
import { describeGguf, type GgufDescription, storedTypes } from './gguf-description.js';
import type { PoolingChoice } from './pooling-model.js';
import { pullError } from './pull-error.js';

/** An encoder in a GGUF file, by its header. */
export interface GgufEncoderDescription {
  architecture: string;
  title: string | null;
  license: string | null;
  /** Types of the weights by share, the largest first. */
  stored: string;
  parameters: number;
  pooling: SentencePooling;
  /** The settings as `config.json` would have them. */
  config: EncoderConfig;
}

export type GgufContent =
  { format: 'gguf'; gguf: GgufDescription } | { format: 'gguf-encoder'; encoder: GgufEncoderDescription };

/** The name that a file gives to its model. */
export function titleOf(content: GgufContent): string | null {
  return content.format === 'gguf' ? content.gguf.title : content.encoder.title;
}

/**
 * Describes a decoder or an encoder. Reads the header only, a few MB at the beginning of the file or of each shard. Fails
 * as `describeGguf` does.
 */
export async function describeGgufContent(
  files: readonly ByteSource[],
  choice: PoolingChoice,
  projector?: ByteSource,
): Promise<GgufContent> {
  const opened = await openGguf(files);
  if (isGgufEncoder(opened)) return { format: 'gguf-encoder', encoder: describeEncoder(opened, choice) };
  const images = projector === undefined ? null : await openGguf([projector]);
  return { format: 'gguf', gguf: describeGguf(opened, choice, images) };
}

function describeEncoder({ file, header }: OpenedGguf, choice: PoolingChoice): GgufEncoderDescription {
  const encoder = readGgufEncoder(file, header);
  const { metadata, settings, architecture } = encoder;
  if (choice.purpose !== undefined && choice.purpose !== 'embedding') {
    throw pullError(`${file.name} is an encoder; it can only be added as an embedding model.`);
  }
  const stored = ggufPooling(metadata);
  if (stored === 'rank') {
    throw pullError(`${file.name} is a reranker made of an encoder; add its safetensors instead.`);
  }
  const pooling = choice.pooling ?? stored;
  if (pooling === null) throw unknownPooling(file.name);
  readGgufEncoderTokenizer(metadata, openGraph(encoder).vocabularySize);
  return {
    architecture,
    title: metadata.text('general.name', '') || null,
    license: metadata.text('general.license', '') || null,
    stored: storedTypes(header),
    parameters: [...header.tensors.values()].reduce((sum, tensor) => sum + valuesOf(tensor), 0),
    pooling,
    config: settings.config,
  };
}
