import { join } from 'node:path';
import { PlatformError } from '#common';
import { EmbeddingEngine, embeddingTask, readSentenceSettings, SentenceEncoder } from '../../embedding/index.js';
import type { BatchLimits } from '../../embedding/length-batcher.js';
import type { EngineLoader, HostLoadOptions } from '../../contract/engine-loader.js';
import { OrtSession } from '../../runtime/ort-session.js';
import { readJsonIfPresent, SentenceTokenizer } from '../../text/index.js';

/** Members of config.json that limit the length of a text. */
interface EncoderConfig {
  model_type?: string;
  max_position_embeddings?: number;
}

/** Model types whose position embeddings start after the padding id. */
const offsetPositions: Record<string, number> = { roberta: 2, 'xlm-roberta': 2, camembert: 2, mpnet: 2 };

/**
 * Tokens per run. On a CPU, more tokens gain nothing once the matrices are large, and they delay queued requests. One
 * thread is slower with more than `thread` tokens, whose activations fit its cache. A GPU needs many.
 */
const batchTokens = { thread: 256, cpu: 512, device: 16_384 };
const maxRows = { cpu: 64, device: 1_024 };

const mixingNote = 'its quantised weights mix the texts of a batch, so texts run one by one, which is slower';

/** Probe texts: each must have the same vector alone and in a batch. */
const probes = [
  'Hello.',
  'The ferry leaves at 7:45 from pier 12, unless the wind turns to the north-west.',
  'Über den Wolken 雲の上 — “freedom” must be boundless!',
];

/**
 * BERT-like encoders in the sentence-transformers layout, exported to ONNX. Inputs and outputs are found in the graph;
 * pooling and normalisation in the files beside it. Options: `pooling` (`mean`, `cls`, `last`, `max`), `normalize`,
 * `batchTokens`.
 */
export const loadTextEmbeddingFamily: EngineLoader = async (options, sink) => {
  const { directory, graphFile, providers, intraOpThreads, slots } = options;
  const [tokenizer, settings, maxTokens] = await Promise.all([
    SentenceTokenizer.load(directory),
    readSentenceSettings(options),
    longestText(options),
  ]);
  const session = await OrtSession.open({ modelPath: join(directory, graphFile), providers, intraOpThreads });
  const encoder = new SentenceEncoder(session, settings, tokenizer.padId);
  const rows = probes
    .map((text) => tokenizer.encode(text, maxTokens))
    .flatMap((each) => ('ids' in each ? [each.ids] : []));
  const isMixing = await encoder.mixesRows(rows);
  const engine = new EmbeddingEngine({
    encode: (batch) => encoder.encode(batch),
    tokenize: (text, limit) => tokenizer.encode(text, limit),
    maxTokens,
    normalize: settings.normalize,
    batch: isMixing ? { tokens: 1, rows: 1 } : batchLimits(options, encoder.provider),
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

/** Returns the smaller of the manifest's limit and the model's positions. */
async function longestText({ directory, contextLength }: HostLoadOptions): Promise<number> {
  const config = (await readJsonIfPresent<EncoderConfig>(join(directory, 'config.json'))) ?? {};
  const { max_position_embeddings: positions = contextLength, model_type: type = '' } = config;
  return Math.min(contextLength, positions - (offsetPositions[type] ?? 0));
}

function batchLimits({ familyOptions, intraOpThreads }: HostLoadOptions, provider: string): BatchLimits {
  const kind = provider === 'cpu' ? 'cpu' : 'device';
  const usual = kind === 'cpu' ? Math.min(batchTokens.cpu, batchTokens.thread * intraOpThreads) : batchTokens.device;
  const { batchTokens: tokens = usual } = familyOptions;
  if (typeof tokens !== 'number' || !Number.isInteger(tokens) || tokens < 1) {
    throw new PlatformError('INVALID_MANIFEST', 'familyOptions.batchTokens must be a whole number.');
  }
  return { tokens, rows: maxRows[kind] };
}
