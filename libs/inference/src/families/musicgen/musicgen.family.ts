import { dirname, join } from 'node:path';
import { type ComposeInput, composeTask } from '../../engines/music.js';
import { QueuedTaskEngine } from '../../engines/queued-task.engine.js';
import type { EngineLoader } from '../../contract/engine-loader.js';
import { MergedDecoder } from '../../recognition/merged-decoder.js';
import { openGraph } from '../../runtime/open-graph.js';
import type { GraphSession } from '../../runtime/graph-session.js';
import { SentenceTokenizer } from '../../text/index.js';
import { CodeWriter } from './code-writer.js';
import { MusicgenGenerator } from './musicgen.generator.js';
import { readMusicgenConfig } from './musicgen.config.js';
import { PromptReader } from './prompt-states.js';

/**
 * MusicGen (https://arxiv.org/abs/2306.05284), mono, exported for transformers.js. `graphFile` is the merged decoder.
 * `familyOptions.textEncoderFile` and `codecFile` default to `text_encoder.onnx` and `encodec_decode.onnx`.
 * `tokenizer.json`, `config.json` and `generation_config.json` are in the same folder. The delay pattern is computed
 * here, so `build_delay_pattern_mask.onnx` is not needed.
 */
export const loadMusicgenFamily: EngineLoader = async (options, sink) => {
  const { directory, graphFile, familyOptions, providers, intraOpThreads } = options;
  const config = await readMusicgenConfig(directory, familyOptions);
  const tokenizer = await SentenceTokenizer.load(directory);
  // The graphs run in turn, so their threads must not spin.
  const open = async (file: string): Promise<GraphSession> =>
    await openGraph({ modelPath: join(directory, file), providers, intraOpThreads, spinning: false });
  const { textEncoderFile, codecFile } = familyOptions;
  const beside = (name: string): string => join(dirname(graphFile), name);
  const encoder = await open(typeof textEncoderFile === 'string' ? textEncoderFile : beside('text_encoder.onnx'));
  const codec = await open(typeof codecFile === 'string' ? codecFile : beside('encodec_decode.onnx'));
  const decoderSession = await open(graphFile);
  const decoder = new MergedDecoder(decoderSession, { vocabularySize: config.vocabularySize });
  const reader = new PromptReader({ tokenizer, encoder, decoder: decoderSession });
  const generator = new MusicgenGenerator({ config, writer: new CodeWriter({ config, reader, decoder }), codec });
  const engine = new QueuedTaskEngine({
    handlers: { [composeTask]: (input: ComposeInput, context) => generator.compose(input, context) },
    sink,
    onClose: async () => {
      await encoder.release();
      await codec.release();
      await decoder.release();
    },
  });
  const { provider, providerNote } = decoderSession;
  const input: ComposeInput = { prompt: 'a', seconds: 0.1, seed: 1 };
  return { engine, provider, providerNote, slots: 1, warmUp: { task: composeTask, input } };
};
