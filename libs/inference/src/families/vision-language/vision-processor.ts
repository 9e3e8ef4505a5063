import { PlatformError } from '#common';
import type { ImageEncoder } from '../../engines/image-reader.js';
import type { TextTokenizer } from '../../text/index.js';
import { unfit, type PreprocessorFile, type VisionLanguageConfig } from './preprocessor-config.js';
import type { VisionSession } from './vision-session.js';

/** How one kind of model sees: size rules, prompt text and tensors. */
export interface VisionProcessor extends ImageEncoder {
  /** Positions in the prompt, text around them included, that no image exceeds. */
  readonly maxImageTokens: number;
  /** The same for frames of videos. */
  readonly maxFrameTokens: number;
}

export interface ProcessorFiles {
  config: VisionLanguageConfig;
  preprocessor: PreprocessorFile;
  tokenizer: TextTokenizer;
  session: VisionSession;
  /** Tokens by which the manifest quotes images and frames, for models that can scale them to any number. */
  limits?: { imageTokens?: number; frameTokens?: number };
}

/** Returns the id of the image placeholder. Throws `INVALID_MODEL` if tokenizer and config.json disagree. */
export function imageTokenOf({ config, tokenizer }: ProcessorFiles, placeholder: string): number {
  const id = tokenizer.idOf(placeholder);
  const named = config.image_token_id ?? config.image_token_index ?? id;
  if (id === null) throw unfit(`its tokenizer has no token ${placeholder}`);
  if (id !== named) throw unfit(`its config.json says that image tokens are ${named}, its tokenizer says ${id}`);
  return id;
}

/** Ends the encoding of an image whose request was cancelled. */
export function requireWanted(isWanted: () => boolean): void {
  if (!isWanted()) throw new PlatformError('JOB_CANCELLED', 'The request was cancelled.');
}
