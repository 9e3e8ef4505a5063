import { PlatformError } from '#common';
import type { SpeechWindow } from './block-recognizer.js';

/**
 * Throws `INVALID_REQUEST` for what a model cannot follow that only transcribes: a translation, a prompt, or a language
 * outside of `languages`, which is empty if they are unknown.
 */
export function refuseUnsupported(
  { translate, prompt, languages: [hint] }: Pick<SpeechWindow, 'translate' | 'prompt' | 'languages'>,
  languages: readonly string[],
): void {
  if (translate === true) throw refusal('This model does not translate.', 'model');
  if (prompt !== null && prompt.trim() !== '') throw refusal('This model takes no prompt.', 'prompt');
  if (hint === undefined || languages.length === 0 || languages.includes(hint)) return;
  throw refusal(`This model does not know the language ${hint}.`, 'language');
}

function refusal(message: string, param: string): PlatformError {
  return new PlatformError('INVALID_REQUEST', message, param);
}
