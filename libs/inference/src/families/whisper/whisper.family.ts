import type { EngineLoader } from '../../contract/engine-loader.js';
import { loadRecognitionEngine, type RecognitionGraphs } from '../../recognition/load-recognition-engine.js';
import { WhisperRecognizer } from './whisper.recognizer.js';
import { WhisperTokens } from './whisper.tokens.js';

/**
 * Whisper, exported for transformers.js: an encoder (`graphFile`) and a merged decoder (`familyOptions.decoderFile`),
 * with tokenizer and generation settings beside them. Exports that return cross attentions support word times.
 */
export const loadWhisperFamily: EngineLoader = async (options, sink) => {
  const tokens = await WhisperTokens.load(options.directory);
  const recognizerOf = (graphs: RecognitionGraphs) => new WhisperRecognizer({ ...graphs, tokens });
  return await loadRecognitionEngine({ name: 'whisper', recognizerOf }, options, sink);
};
