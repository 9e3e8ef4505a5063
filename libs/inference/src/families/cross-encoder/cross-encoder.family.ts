import { join } from 'node:path';
import type { EngineLoader } from '../../contract/engine-loader.js';
import { batchLimits, longestText, mixingNote } from '../../embedding/index.js';
import { CrossEncoder, RerankEngine, type RerankInput, rerankTask } from '../../reranking/index.js';
import { openGraph } from '../../runtime/open-graph.js';
import { PairTokenizer } from '../../text/index.js';

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
 * with `input_ids`, `attention_mask` and, where the model has them, `token_type_ids`. Options: `batchTokens`.
 */
export const loadCrossEncoderFamily: EngineLoader = async (options, sink) => {
  const { directory, graphFile, providers, intraOpThreads, slots } = options;
  const [tokenizer, maxTokens] = await Promise.all([PairTokenizer.load(directory), longestText(options)]);
  const session = await openGraph({ modelPath: join(directory, graphFile), providers, intraOpThreads });
  const encoder = new CrossEncoder(session, tokenizer.padId);
  const [query, ...documents] = [probe.query, ...probe.documents].map((text) => tokenizer.read(text, maxTokens));
  const pairs = documents.map((document) => tokenizer.join(query ?? [], document));
  const isMixing = await encoder.mixesRows(pairs.filter(({ ids }) => ids.length <= maxTokens));
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
