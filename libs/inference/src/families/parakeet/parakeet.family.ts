import { join } from 'node:path';
import { PlatformError } from '#common';
import type { EngineLoader } from '../../contract/engine-loader.js';
import { recognitionEngine } from '../../recognition/load-recognition-engine.js';
import type { GraphSession } from '../../runtime/graph-session.js';
import { openGraph } from '../../runtime/open-graph.js';
import { readJsonIfPresent } from '../../text/index.js';
import { ParakeetRecognizer } from './parakeet.recognizer.js';
import { TransducerGraphs } from './transducer-graphs.js';
import { TransducerVocabulary } from './transducer-vocabulary.js';

/** Members of `config.json`, which one of the layouts has. */
interface TransducerSettings {
  features_size?: number;
  subsampling_factor?: number;
  max_tokens_per_step?: number;
}

const defaultBands = 128;
const defaultSubsamplingFactor = 8;
const defaultTokensPerFrame = 10;

/**
 * Parakeet TDT as NeMo exports it: an encoder (`graphFile`) and the joint network (`familyOptions.jointFile`), which
 * contains the prediction network or has it beside it (`familyOptions.predictorFile`). `familyOptions.languages` lists
 * the languages that the model knows, separated by commas.
 */
export const loadParakeetFamily: EngineLoader = async (options, sink) => {
  const { directory, graphFile, familyOptions, providers, intraOpThreads } = options;
  const { jointFile, predictorFile, languages } = familyOptions;
  if (typeof jointFile !== 'string') {
    throw new PlatformError('INVALID_MANIFEST', 'The family parakeet needs familyOptions.jointFile.');
  }
  const vocabulary = await TransducerVocabulary.load(directory);
  const settings = (await readJsonIfPresent<TransducerSettings>(join(directory, 'config.json'))) ?? {};
  // The graphs run in turn; spinning threads of one would take CPU time from the other.
  const open = (file: string, on: readonly string[]): Promise<GraphSession> =>
    openGraph({ modelPath: join(directory, file), providers: on, intraOpThreads, spinning: false });
  const encoder = await open(graphFile, providers);
  // The others compute one small step hundreds of times per window, for which a device takes longer.
  const joint = await open(jointFile, ['cpu']);
  const predictor = typeof predictorFile === 'string' ? await open(predictorFile, ['cpu']) : null;
  const graphs = new TransducerGraphs({ encoder, joint, predictor }, { bands: settings.features_size ?? defaultBands });
  const recognizer = new ParakeetRecognizer({
    graphs,
    vocabulary,
    subsamplingFactor: settings.subsampling_factor ?? defaultSubsamplingFactor,
    maxTokensPerFrame: settings.max_tokens_per_step ?? defaultTokensPerFrame,
    languages: typeof languages === 'string' ? languages.split(',').map((code) => code.trim()) : [],
  });
  return await recognitionEngine({ encoder, recognizer, release: () => graphs.release() }, options, sink);
};
