import { join } from 'node:path';
import { PlatformError } from '#common';
import { QueuedTaskEngine } from '../../engines/queued-task.engine.js';
import type { EngineLoader } from '../../host/loaded-engine.js';
import { BlockRecognizer } from '../../recognition/block-recognizer.js';
import { loadVoiceActivity } from '../../recognition/load-voice-activity.js';
import { MergedDecoder } from '../../recognition/merged-decoder.js';
import { recognitionHandlers, recognitionWarmUp } from '../../recognition/recognition-task.js';
import { OrtSession } from '../../runtime/ort-session.js';
import { TextTokenizer } from '../../text/index.js';
import { MoonshineRecognizer } from './moonshine.recognizer.js';

/**
 * Moonshine: an encoder of samples (`graphFile`) and a merged decoder (`familyOptions.decoderFile`), with the tokenizer
 * beside them.
 */
export const loadMoonshineFamily: EngineLoader = async (options, sink) => {
  const { directory, graphFile, familyOptions, providers, intraOpThreads } = options;
  const { decoderFile } = familyOptions;
  if (typeof decoderFile !== 'string') {
    throw new PlatformError('INVALID_MANIFEST', 'The family moonshine needs familyOptions.decoderFile.');
  }
  const tokenizer = await TextTokenizer.load(directory);
  const { bosTokenId, eosTokenId } = tokenizer;
  if (bosTokenId === null || eosTokenId === null) {
    throw new PlatformError('INVALID_MODEL', "The model's tokenizer names no token to begin and to end a text.");
  }
  const session = { providers, intraOpThreads, spinning: false };
  const encoder = await OrtSession.open({ ...session, modelPath: join(directory, graphFile) });
  const decoder = new MergedDecoder(await OrtSession.open({ ...session, modelPath: join(directory, decoderFile) }));
  const voice = await loadVoiceActivity(options);
  const recognizer = new MoonshineRecognizer({
    encoder,
    decoder,
    tokenizer,
    startToken: bosTokenId,
    endToken: eosTokenId,
  });
  const engine = new QueuedTaskEngine({
    handlers: recognitionHandlers(new BlockRecognizer(recognizer, voice)),
    sink,
    onClose: async () => {
      await encoder.release();
      await decoder.release();
      await voice?.release();
    },
  });
  const { provider, providerNote } = encoder;
  return { engine, provider, providerNote, slots: options.slots, warmUp: recognitionWarmUp };
};
