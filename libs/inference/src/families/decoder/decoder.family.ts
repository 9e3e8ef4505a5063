import { join } from 'node:path';
import { textTrial, textWarmUp } from '../../contract/text-generation.js';
import { SchedulerTextEngine, type TextSide } from '../../engines/text-generation.engine.js';
import type { EngineLoader, HostLoadOptions } from '../../contract/engine-loader.js';
import { defaultReasoning } from '../../contract/reasoning-format.js';
import { cacheTypeOf, type DecoderHints } from '../../runtime/decoder-graph.js';
import { isBatchInvariant } from '../../scheduler/batch-invariance.js';
import { BatchScheduler } from '../../scheduler/batch-scheduler.js';
import { openDecoder } from '../../scheduler/open-decoder.js';
import {
  ChatTemplate,
  findReasoningFormat,
  loadGenerationConfig,
  loadTemplateSource,
  loadTokenizerConfig,
  readJsonIfPresent,
  TextTokenizer,
} from '../../text/index.js';
import { findToolStyle } from '../../tools/tool-styles.js';
import { openWithAdapters } from './adapters.js';

/** Members of config.json that describe a graph where the graph itself does not. */
interface DecoderConfig {
  num_key_value_heads?: number;
  num_attention_heads?: number;
  hidden_size?: number;
  head_dim?: number;
  vocab_size?: number;
}

const concatNote = 'its graph returns the whole cache at every step, which is slower than a graph of our converters';

/**
 * Any decoder-only model in the transformers.js layout or our own split layout. Tensor names, cache kind and number
 * format are read from the graph. Tokenizer, template and generation defaults are read from the files beside it.
 */
export const loadDecoderFamily: EngineLoader = async (options, sink) => {
  const { directory, slots, spareSlots = 0 } = options;
  const [text, hints] = await Promise.all([loadTextSide(directory, options), loadHints(directory)]);
  const { session, adapters, refused } = await openWithAdapters(options);
  const decoder = openDecoder(session, { slots, hints });
  const batchInvariant = await isBatchInvariant(decoder);
  const cacheType = cacheTypeOf(session);
  const contextLength = Math.min(
    options.contextLength,
    text.generation.maxPositions ?? options.contextLength,
    // The last token of a completion is never fed back, so it needs no cache position.
    options.cacheTokens + 1,
  );
  const { cacheTokens, draftTokens } = options;
  const limits = { slots, spareSlots, contextLength, cacheTokens, draftTokens };
  const engine = new SchedulerTextEngine({
    text,
    contextLength,
    adapters,
    createScheduler: (afterStep) => new BatchScheduler({ decoder, ...limits, afterStep }),
    sink,
  });
  const notes = [session.providerNote, decoder.kind === 'concat' ? concatNote : null].filter((note) => note !== null);
  return {
    engine,
    provider: session.provider,
    providerNote: notes.length > 0 ? notes.join('; ') : null,
    slots,
    spareSlots,
    batchInvariant,
    ...(cacheType !== undefined && { cacheType }),
    ...(options.adapters !== undefined && { adapters: { modelIds: [...adapters.keys()], refused } }),
    warmUp: textWarmUp,
    trial: textTrial,
  };
};

/**
 * Loads tokenizer, template and generation defaults of an installed model. The options are how its manifest says that it
 * reasons and writes tool calls; absent or null if it says nothing, and the template decides.
 */
export async function loadTextSide(
  directory: string,
  { reasoning: declared = null, toolStyle }: Pick<HostLoadOptions, 'reasoning' | 'toolStyle'> = {},
): Promise<TextSide> {
  const config = await loadTokenizerConfig(directory);
  const source = await loadTemplateSource(directory, config);
  const named = source === null ? null : findReasoningFormat(source);
  const reasoning = declared === 'usual' ? (named ?? defaultReasoning) : (declared ?? named);
  const { marks } = findToolStyle(source, toolStyle);
  const tokenizer = await TextTokenizer.load(directory, [...Object.values(reasoning ?? {}), ...marks], source);
  const generation = await loadGenerationConfig(directory, tokenizer);
  return {
    tokenizer,
    template: source === null ? null : new ChatTemplate(source, tokenizer.special, undefined, tokenizer.control),
    generation,
    reasoning,
    toolStyle,
  };
}

async function loadHints(directory: string): Promise<DecoderHints> {
  const config = (await readJsonIfPresent<DecoderConfig>(join(directory, 'config.json'))) ?? {};
  const { hidden_size: hiddenSize, num_attention_heads: heads } = config;
  return {
    kvHeads: config.num_key_value_heads ?? heads,
    headDim: config.head_dim ?? (hiddenSize !== undefined && heads !== undefined ? hiddenSize / heads : undefined),
    vocabularySize: config.vocab_size,
  };
}
