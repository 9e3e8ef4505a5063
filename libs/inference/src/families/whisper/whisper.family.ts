import { join } from 'node:path';
import { PlatformError } from '#common';
import { QueuedTaskEngine } from '../../engines/queued-task.engine.js';
import type { EngineLoader } from '../../host/loaded-engine.js';
import { BlockRecognizer } from '../../recognition/block-recognizer.js';
import { loadVoiceActivity } from '../../recognition/load-voice-activity.js';
import { MergedDecoder } from '../../recognition/merged-decoder.js';
import { recognitionHandlers, recognitionWarmUp } from '../../recognition/recognition-task.js';
import { OrtSession } from '../../runtime/ort-session.js';
import { WhisperRecognizer } from './whisper.recognizer.js';
import { WhisperTokens } from './whisper.tokens.js';

/**
 * Whisper, exported for transformers.js: an encoder (`graphFile`) and a merged decoder (`familyOptions.decoderFile`),
 * with the tokenizer and the generation settings beside them. Exports that return cross attentions can time words.
 */
export const loadWhisperFamily: EngineLoader = async (options, sink) => {
  const { directory, graphFile, familyOptions, providers, intraOpThreads } = options;
  const { decoderFile } = familyOptions;
  if (typeof decoderFile !== 'string') {
    throw new PlatformError('INVALID_MANIFEST', 'The family whisper needs familyOptions.decoderFile.');
  }
  const tokens = await WhisperTokens.load(directory);
  // They take turns, and threads that spin while the other one works take its processors.
  const session = { providers, intraOpThreads, spinning: false };
  const encoder = await OrtSession.open({ ...session, modelPath: join(directory, graphFile) });
  const decoderSession = await OrtSession.open({ ...session, modelPath: join(directory, decoderFile) });
  const voice = await loadVoiceActivity(options);
  const decoder = new MergedDecoder(decoderSession);
  const recognizer = new BlockRecognizer(new WhisperRecognizer({ encoder, decoder, tokens }), voice);
  const engine = new QueuedTaskEngine({
    handlers: recognitionHandlers(recognizer),
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
