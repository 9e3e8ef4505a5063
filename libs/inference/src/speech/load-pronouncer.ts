import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { NeuralPronouncer } from './english/neural-pronouncer.js';
import { PronunciationDictionary } from './english/pronunciation-dictionary.js';
import { WordPronouncer } from './english/word-pronouncer.js';

/** File names in the folder of an English speech model. */
export const pronunciationFiles = { dictionary: 'cmudict.js', model: 'g2p_model.json' } as const;

/**
 * Loads the pronouncer from the files beside a model's graph. Without `g2p_model.json`, unknown words are pronounced by
 * rules. Rejects with `INVALID_MODEL`.
 */
export async function loadPronouncer(directory: string): Promise<WordPronouncer> {
  const modelPath = join(directory, pronunciationFiles.model);
  const [dictionary, model] = await Promise.all([
    PronunciationDictionary.load(join(directory, pronunciationFiles.dictionary)),
    existsSync(modelPath) ? NeuralPronouncer.load(modelPath) : null,
  ]);
  return new WordPronouncer(dictionary, model);
}
