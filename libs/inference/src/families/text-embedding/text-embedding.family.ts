import { join } from 'node:path';
import { PlatformError } from '#common';
import {
  batchLimits,
  EmbeddingEngine,
  embeddingTask,
  longestText,
  mixingNote,
  readSentenceSettings,
  SentenceEncoder,
} from '../../embedding/index.js';
import type { EngineLoader, HostLoadOptions } from '../../contract/engine-loader.js';
import { openGraph } from '../../runtime/open-graph.js';
import { SentenceTokenizer } from '../../text/index.js';

/** Probe texts: each must have the same vector alone and in a batch. */
const probes = [
  'Hello.',
  'The ferry leaves at 7:45 from pier 12, unless the wind turns to the north-west.',
  'Über den Wolken 雲の上 — “freedom” must be boundless!',
];

/**
 * BERT-like encoders in the sentence-transformers layout, exported to ONNX, and decoders converted to embedding models.
 * Inputs and outputs are found in the graph; pooling and normalization in the files beside it. Options: `pooling`
 * (`mean`, `cls`, `last`, `max`) of graphs that return the vectors of tokens, `normalize`, `endToken` (the token that
 * ends every text, where the tokenizer does not add it), `batchTokens`.
 */
export const loadTextEmbeddingFamily: EngineLoader = async (options, sink) => {
  const { directory, graphFile, familyOptions, providers, intraOpThreads, slots } = options;
  const [tokenizer, settings, maxTokens] = await Promise.all([
    SentenceTokenizer.load(directory, endTokenOf(familyOptions)),
    readSentenceSettings(options),
    longestText(options),
  ]);
  const session = await openGraph({ modelPath: join(directory, graphFile), providers, intraOpThreads });
  const encoder = new SentenceEncoder(session, settings, tokenizer.padId);
  if (encoder.poolsItself && familyOptions.pooling !== undefined) {
    throw new PlatformError('INVALID_MANIFEST', 'familyOptions.pooling has no effect: the graph pools by itself.');
  }
  const rows = probes
    .map((text) => tokenizer.encode(text, maxTokens))
    .flatMap((encoded) => ('ids' in encoded ? [encoded.ids] : []));
  const isMixing = await encoder.mixesRows(rows);
  const engine = new EmbeddingEngine({
    encode: (batch) => encoder.encode(batch),
    tokenize: (text, limit) => tokenizer.encode(text, limit),
    readIds: (ids, limit) => tokenizer.accept(ids, limit),
    maxTokens,
    normalize: settings.normalize,
    batch: batchLimits(options, { provider: encoder.provider, isMixing }),
    slots,
    sink,
    onClose: () => encoder.release(),
  });
  const notes = [encoder.providerNote, isMixing ? mixingNote : null].filter((note) => note !== null);
  return {
    engine,
    provider: encoder.provider,
    providerNote: notes.length > 0 ? notes.join('; ') : null,
    slots,
    warmUp: { task: embeddingTask, input: { texts: probes.slice(0, 1), dimensions: null } },
  };
};

function endTokenOf({ endToken }: HostLoadOptions['familyOptions']): string | null {
  if (endToken === undefined) return null;
  if (typeof endToken === 'string' && endToken !== '') return endToken;
  throw new PlatformError('INVALID_MANIFEST', 'familyOptions.endToken must be the text of a token.');
}
