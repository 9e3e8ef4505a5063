import { join } from 'node:path';
import { PlatformError } from '#common';
import type { EngineLoader, HostLoadOptions } from '../../contract/engine-loader.js';
import { textTrial, textWarmUp } from '../../contract/text-generation.js';
import { ImageReader } from '../../engines/image-reader.js';
import { SchedulerTextEngine, type TextSide } from '../../engines/text-generation.engine.js';
import { cacheTypeOf, type DecoderHints } from '../../runtime/decoder-graph.js';
import { openGraph } from '../../runtime/open-graph.js';
import type { GraphSession } from '../../runtime/graph-session.js';
import { isBatchInvariant } from '../../scheduler/batch-invariance.js';
import { BatchScheduler } from '../../scheduler/batch-scheduler.js';
import { openDecoder } from '../../scheduler/open-decoder.js';
import { TokenEmbedder } from '../../scheduler/token-embedder.js';
import { readJsonIfPresent } from '../../text/index.js';
import { loadTextSide } from '../decoder/decoder.family.js';
import { Gemma3Processor } from './gemma3.processor.js';
import { Idefics3Processor } from './idefics3.processor.js';
import { LlavaNextProcessor } from './llava-next.processor.js';
import { LlavaProcessor } from './llava.processor.js';
import {
  loadPreprocessor,
  type TextConfig,
  textConfigOf,
  unfit,
  type VisionLanguageConfig,
} from './preprocessor-config.js';
import { Qwen2VlProcessor } from './qwen2-vl.processor.js';
import type { ProcessorFiles, VisionProcessor } from './vision-processor.js';
import { VisionSession } from './vision-session.js';

/** Processors by `model_type` of config.json. */
const processors: Partial<Record<string, new (files: ProcessorFiles) => VisionProcessor>> = {
  gemma3: Gemma3Processor,
  idefics3: Idefics3Processor,
  smolvlm: Idefics3Processor,
  llava: LlavaProcessor,
  llava_next: LlavaNextProcessor,
  qwen2_vl: Qwen2VlProcessor,
  qwen2_5_vl: Qwen2VlProcessor,
  qwen3_vl: Qwen2VlProcessor,
};

/**
 * Models that read images, in the transformers.js layout: a vision encoder, an embedding of tokens and a decoder that
 * takes embeddings. `graphFile` names the decoder; the others lie beside it under the same suffix (`_q4`, `_fp16`), or
 * where the options `visionEncoder` and `embedTokens` say. A decoder that this project converted takes tokens and images,
 * and embeds tokens itself.
 */
export const loadVisionLanguageFamily: EngineLoader = async (options, sink) => {
  const { directory, slots, spareSlots = 0 } = options;
  const [text, config, preprocessor] = await Promise.all([
    loadTextSide(directory, options),
    readJsonIfPresent<VisionLanguageConfig>(join(directory, 'config.json')),
    loadPreprocessor(directory),
  ]);
  const { decoder: decoderSession, embedding, vision } = await openSessions(options);
  const session = new VisionSession(vision);
  requireWidth(session, decoderSession);
  const processor = newProcessor({ config: config ?? {}, preprocessor, tokenizer: text.tokenizer, session }, options);
  const decoder = openDecoder(decoderSession, {
    slots,
    hints: hintsOf(textConfigOf(config ?? {})),
    embedder: embedding === null ? undefined : new TokenEmbedder(embedding),
  });
  const batchInvariant = await isBatchInvariant(decoder);
  const contextLength = contextOf(options, text, textConfigOf(config ?? {}));
  const limits = { slots, spareSlots, contextLength, cacheTokens: options.cacheTokens };
  const engine = new SchedulerTextEngine({
    text: { ...text, images: new ImageReader(processor) },
    contextLength,
    createScheduler: (afterStep) => new BatchScheduler({ decoder, ...limits, afterStep }),
    sink,
  });
  const { provider, providerNote } = decoderSession;
  const cacheType = cacheTypeOf(decoderSession);
  return {
    engine,
    provider,
    providerNote,
    slots,
    spareSlots,
    batchInvariant,
    ...(cacheType !== undefined && { cacheType }),
    warmUp: textWarmUp,
    trial: textTrial,
  };
};

function newProcessor(files: ProcessorFiles, { familyOptions }: HostLoadOptions): VisionProcessor {
  const type = files.config.model_type ?? 'nothing';
  const Processor = processors[type];
  if (Processor === undefined) {
    throw unfit(`config.json names the model_type ${type}; known are ${Object.keys(processors).join(', ')}`);
  }
  const limits = {
    imageTokens: numberOf(familyOptions, 'imageTokens'),
    frameTokens: numberOf(familyOptions, 'frameTokens'),
  };
  const processor = new Processor({ ...files, limits });
  assertQuoted('imageTokens', limits.imageTokens, processor.maxImageTokens);
  assertQuoted('frameTokens', limits.frameTokens, processor.maxFrameTokens);
  return processor;
}

function numberOf(options: HostLoadOptions['familyOptions'], name: string): number | undefined {
  const value = options[name];
  return typeof value === 'number' ? value : undefined;
}

function assertQuoted(option: 'imageTokens' | 'frameTokens', quoted: number | undefined, max: number): void {
  if (quoted === undefined || quoted >= max) return;
  const what = option === 'imageTokens' ? 'An image' : 'A frame of a video';
  const text = `${what} takes up to ${max} tokens of this model: set familyOptions.${option} to that or more, because requests are quoted by it.`;
  throw new PlatformError('INVALID_MODEL', text, `familyOptions.${option}`);
}

async function openSessions(options: HostLoadOptions) {
  const { graphFile, familyOptions } = options;
  const beside = (part: string): string => graphFile.replace(/decoder_model(?:_merged)?(?=[^/]*$)/, part);
  const { visionEncoder = beside('vision_encoder'), embedTokens = beside('embed_tokens') } = familyOptions;
  const decoder = await openSession(options, graphFile, { isDecoder: true });
  const embedsTokens = decoder.inputs.some(({ name }) => name === 'media');
  if (visionEncoder === graphFile || (!embedsTokens && embedTokens === graphFile)) {
    throw unfit('graphFile is no decoder_model_merged, so visionEncoder and embedTokens must name the other graphs');
  }
  return {
    decoder,
    embedding: embedsTokens ? null : await openSession(options, String(embedTokens)),
    vision: await openSession(options, String(visionEncoder)),
  };
}

/** Two converted graphs belong together if one takes what the other returns. */
function requireWidth({ width }: VisionSession, decoder: GraphSession): void {
  const taken = decoder.inputs.find(({ name }) => name === 'media')?.shape[1];
  if (typeof taken !== 'number' || width === null || width === taken) return;
  throw unfit(`its vision encoder returns ${width} values for a token, and its decoder takes ${taken}`);
}

/** The three graphs take turns, so waiting threads must not spin. */
function openSession(
  { directory, providers, intraOpThreads }: HostLoadOptions,
  file: string,
  { isDecoder = false } = {},
): Promise<GraphSession> {
  return openGraph({ modelPath: join(directory, file), providers, intraOpThreads, spinning: false, isDecoder });
}

function contextOf(
  { contextLength, cacheTokens }: HostLoadOptions,
  { generation }: TextSide,
  config: TextConfig,
): number {
  const positions = generation.maxPositions ?? config.max_position_embeddings ?? contextLength;
  // The last token of a completion is never fed back, so it needs no cache position.
  return Math.min(contextLength, positions, cacheTokens + 1);
}

function hintsOf(config: TextConfig): DecoderHints {
  const { hidden_size: hiddenSize, num_attention_heads: heads } = config;
  return {
    kvHeads: config.num_key_value_heads ?? heads,
    headDim: config.head_dim ?? (hiddenSize !== undefined && heads !== undefined ? hiddenSize / heads : undefined),
    vocabularySize: config.vocab_size,
  };
}
