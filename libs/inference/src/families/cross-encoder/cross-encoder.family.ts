import { join } from 'node:path';
import { PlatformError } from '#common';
import type { EngineLoader, HostLoadOptions } from '../../contract/engine-loader.js';
import { batchLimits, longestText, mixingNote } from '../../embedding/index.js';
import { CrossEncoder, RerankEngine, type RerankInput, rerankTask } from '../../reranking/index.js';
import { openGraph } from '../../runtime/open-graph.js';
import { type PairEncoder, PairTokenizer, PromptPairTokenizer } from '../../text/index.js';

const probe: RerankInput = {
  query: 'When does the ferry leave?',
  documents: [
    'At 7:45.',
    'The ferry leaves from pier 12, unless the wind turns to the north-west.',
    'Über den Wolken 雲の上 — “freedom” must be boundless!',
  ],
  maxTokensPerDocument: null,
};

/**
 * Encoders that read two texts as one and return one logit: how relevant the second is to the first. Exported to ONNX
 * with `input_ids`, `attention_mask` and, where the model has them, `token_type_ids`. Decoders that were converted to
 * rerankers read them in a prompt. Options: `template` and `instruction` of such a prompt, `batchTokens`.
 */
export const loadCrossEncoderFamily: EngineLoader = async (options, sink) => {
  const { directory, graphFile, providers, intraOpThreads, slots } = options;
  const [tokenizer, maxTokens] = await Promise.all([loadTokenizer(options), longestText(options)]);
  const session = await openGraph({ modelPath: join(directory, graphFile), providers, intraOpThreads });
  const encoder = new CrossEncoder(session, tokenizer.padId);
  const query = tokenizer.open(probe.query, maxTokens);
  // The query may leave no room in a model for very short texts.
  const pairs = query.room < 1 ? [] : probe.documents.map((document) => query.join(document, query.room));
  const isMixing = pairs.length > 0 && (await encoder.mixesRows(pairs));
  const { provider } = encoder;
  const engine = new RerankEngine({
    encode: (rows) => encoder.encode(rows),
    tokenizer,
    maxTokens,
    batch: batchLimits(options, { provider, isMixing }),
    slots,
    sink,
    onClose: () => encoder.release(),
  });
  const notes = [encoder.providerNote, isMixing ? mixingNote : null].filter((note) => note !== null);
  return {
    engine,
    provider,
    providerNote: notes.length > 0 ? notes.join('; ') : null,
    slots,
    warmUp: { task: rerankTask, input: { ...probe, documents: probe.documents.slice(0, 1) } },
  };
};

async function loadTokenizer(options: HostLoadOptions): Promise<PairEncoder & { padId: number }> {
  const { directory, familyOptions } = options;
  const { template, instruction } = familyOptions;
  if (template === undefined && instruction === undefined) return await PairTokenizer.load(directory);
  if (typeof template !== 'string' || (instruction !== undefined && typeof instruction !== 'string')) {
    const message = 'familyOptions.template must be a text, and .instruction a text in its place of the template.';
    throw new PlatformError('INVALID_MANIFEST', message);
  }
  return await PromptPairTokenizer.load(directory, { template, instruction: instruction ?? '' });
}
