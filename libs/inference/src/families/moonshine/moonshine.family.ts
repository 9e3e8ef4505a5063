import { PlatformError } from '#common';
import type { EngineLoader } from '../../contract/engine-loader.js';
import { loadRecognitionEngine, type RecognitionGraphs } from '../../recognition/load-recognition-engine.js';
import { TextTokenizer } from '../../text/index.js';
import { MoonshineRecognizer } from './moonshine.recognizer.js';

/**
 * Moonshine: an encoder of samples (`graphFile`) and a merged decoder (`familyOptions.decoderFile`), with the tokenizer
 * beside them.
 */
export const loadMoonshineFamily: EngineLoader = async (options, sink) => {
  const tokenizer = await TextTokenizer.load(options.directory);
  const { bosTokenId: startToken, eosTokenId: endToken } = tokenizer;
  if (startToken === null || endToken === null) {
    throw new PlatformError('INVALID_MODEL', "The model's tokenizer lacks a start or an end token.");
  }
  const recognizerOf = (graphs: RecognitionGraphs) =>
    new MoonshineRecognizer({ ...graphs, tokenizer, startToken, endToken });
  return await loadRecognitionEngine({ name: 'moonshine', recognizerOf }, options, sink);
};
