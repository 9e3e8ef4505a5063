import { badOption } from '../conversion-options.js';
import type { DecoderSource } from '../decoder/decoder-source.js';
import type { PooledHead } from '../decoder/pooled-decoder.js';
import type { SourceDecoder } from '../decoder/source-decoder.js';
import type { GgufMetadata } from '../gguf/gguf-metadata.js';
import { invalidFile, quoted } from '../invalid-file.js';
import { ggufSentenceHead } from './dense-weights.js';
import type { PoolingOptions } from './pooling-options.js';
import { scoreHead } from './score-head.js';
import type { SentencePooling } from './sentence-head.js';

/** Values of `pooling_type`; null: `none`, which says as little as no value. */
const poolingTypes: readonly (SentencePooling | 'rank' | null)[] = [null, 'mean', 'cls', 'last', 'rank'];

/** Returns how a file makes one vector of several, or that its model gives a score. Null: it does not say. */
export function ggufPooling(metadata: GgufMetadata): SentencePooling | 'rank' | null {
  const key = `${metadata.text('general.architecture')}.pooling_type`;
  const type = metadata.optionalNumber(key);
  if (type === null) return null;
  const found = poolingTypes[type];
  if (found === undefined) throw invalidFile(metadata.fileName, `its \`${key}\` is ${type}, which is not known`);
  return found;
}

interface OpenedGgufDecoder {
  source: DecoderSource;
  metadata: GgufMetadata;
  decoder: SourceDecoder;
}

/** Returns the part behind the layers of a model that writes no text; null for one that does. */
export function ggufPooledHead(
  { source, metadata, decoder }: OpenedGgufDecoder,
  options: PoolingOptions,
): PooledHead | null {
  if (options.purpose === 'text') return null;
  if (options.purpose === 'rerank') {
    const { trueToken = 'yes', falseToken = 'no' } = options;
    const tokens = () => ({
      trueToken: tokenId(metadata, trueToken),
      falseToken: tokenId(metadata, falseToken),
    });
    return { kind: 'rerank', head: scoreHead(source, decoder, { tokens, labels: labelsOf(metadata) }) };
  }
  const stored = ggufPooling(metadata);
  const pooling = options.pooling ?? (stored === 'rank' ? null : stored);
  if (pooling === null) throw badOption('pooling', 'is missing, and the file does not say it');
  return { kind: 'embedding', head: ggufSentenceHead(source, pooling, decoder.shape.hiddenSize) };
}

/** Names of the classes of a score. */
function labelsOf(metadata: GgufMetadata): string[] {
  const key = `${metadata.text('general.architecture')}.classifier.output_labels`;
  return metadata.has(key) ? metadata.texts(key) : [];
}

function tokenId(metadata: GgufMetadata, token: string | number): number {
  if (typeof token === 'number') return token;
  const id = metadata.texts('tokenizer.ggml.tokens').indexOf(token);
  if (id >= 0) return id;
  throw invalidFile(metadata.fileName, `it has no token ${quoted(token)}, whose logit would be the score`);
}
