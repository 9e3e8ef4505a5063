import type { OnnxGraph } from '../../onnx/index.js';
import { badOption } from '../conversion-options.js';
import type { DecoderOptions } from '../decoder/decoder-body.js';
import { emitPooledDecoder } from '../decoder/pooled-decoder.js';
import type { SourceDecoder } from '../decoder/source-decoder.js';
import { invalidFile, quoted } from '../invalid-file.js';
import type { HubCheckpoint } from '../safetensors/hub-checkpoint.js';
import { type ModelFiles, readJsonObject } from '../safetensors/model-files.js';
import { openSentenceHead } from './dense-weights.js';
import type { PoolingOptions } from './pooling-options.js';
import { scoreHead } from './score-head.js';
import { readSentenceLayout } from './sentence-layout.js';

export interface OpenedModel {
  files: ModelFiles;
  checkpoint: HubCheckpoint;
  decoder: SourceDecoder;
}

/** Emits the graph of an embedding model or a reranker. */
export interface HubPoolingModel {
  emitDecoder: (options: DecoderOptions) => OnnxGraph;
  close: () => Promise<void>;
}

const tokenizerFile = 'tokenizer.json';

/** Opens the part behind the layers of a model that writes no text; null for one that does. */
export async function openHubPoolingModel(
  model: OpenedModel,
  options: PoolingOptions,
): Promise<HubPoolingModel | null> {
  if (options.purpose === 'text') return null;
  return options.purpose === 'rerank' ? openReranker(model, options) : openEmbedder(model, options);
}

async function openReranker(
  { files, checkpoint, decoder }: OpenedModel,
  options: PoolingOptions,
): Promise<HubPoolingModel> {
  const layout = await readSentenceLayout(files);
  const vocabulary = await readJsonObject(files, tokenizerFile);
  const stored = layout?.kind === 'rerank' ? layout : { trueToken: 'yes', falseToken: 'no' };
  const tokens = () => ({
    trueToken: tokenId(vocabulary, options.trueToken ?? stored.trueToken),
    falseToken: tokenId(vocabulary, options.falseToken ?? stored.falseToken),
  });
  const head = scoreHead(checkpoint.source, decoder, { tokens, labels: [] });
  return {
    emitDecoder: (decoderOptions) => emitPooledDecoder(decoderOptions, { kind: 'rerank', head }),
    close: () => Promise.resolve(),
  };
}

async function openEmbedder({ files, decoder }: OpenedModel, options: PoolingOptions): Promise<HubPoolingModel> {
  const layout = await readSentenceLayout(files);
  const stored = layout?.kind === 'embedding' ? layout : { pooling: undefined, dense: [] };
  const pooling = options.pooling ?? stored.pooling;
  if (pooling === undefined) throw badOption('pooling', 'is missing, and the model has no modules.json that says it');
  const { dense } = stored;
  const { head, close } = await openSentenceHead(files, { pooling, dense, size: decoder.shape.hiddenSize });
  return { emitDecoder: (decoderOptions) => emitPooledDecoder(decoderOptions, { kind: 'embedding', head }), close };
}

/** The id of a token by its text. */
function tokenId(tokenizer: Record<string, unknown>, token: string | number): number {
  if (typeof token === 'number') return token;
  const { model, added_tokens: added } = tokenizer as {
    model?: { vocab?: unknown };
    added_tokens?: { id?: unknown; content?: unknown }[];
  };
  const vocabulary: unknown = model?.vocab;
  const isTable = typeof vocabulary === 'object' && vocabulary !== null && !Array.isArray(vocabulary);
  const ids = isTable ? (vocabulary as Record<string, unknown>) : {};
  const id = Object.hasOwn(ids, token) ? ids[token] : added?.find(({ content }) => content === token)?.id;
  if (typeof id === 'number') return id;
  throw invalidFile(tokenizerFile, `it has no token ${quoted(token)}, whose logit would be the score`);
}
