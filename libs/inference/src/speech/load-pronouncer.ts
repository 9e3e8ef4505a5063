import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { NeuralPronouncer } from './english/neural-pronouncer.js';
import { PronunciationDictionary } from './english/pronunciation-dictionary.js';
import { WordPronouncer } from './english/word-pronouncer.js';

/** Names of the files in the folder of a model that speaks English. */
export const pronunciationFiles = { dictionary: 'cmudict.js', model: 'g2p_model.json' } as const;

/**
 * How words are said, from the files beside a model's graph. Without the model of `g2p_model.json` unknown words are
 * sounded out by rules. Rejects with `INVALID_MODEL`.
 */
export async function loadPronouncer(directory: string): Promise<WordPronouncer> {
  const modelPath = join(directory, pronunciationFiles.model);
  const [dictionary, model] = await Promise.all([
    PronunciationDictionary.load(join(directory, pronunciationFiles.dictionary)),
    existsSync(modelPath) ? NeuralPronouncer.load(modelPath) : null,
  ]);
  return new WordPronouncer(dictionary, model);
}
