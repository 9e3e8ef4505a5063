import { describe, expect, it } from 'vitest';
import type { TextTokenizer } from '../../text/index.js';
import { WhisperTokens } from './whisper.tokens.js';

function tokensOf(names: string[]): WhisperTokens {
  const tokenizer = {
    idOf: (name: string) => (names.includes(name) ? names.indexOf(name) : null),
    describeToken: (id: number) => ({ token: names[id] ?? '', bytes: null }),
  };
  return new WhisperTokens(tokenizer as unknown as TextTokenizer, {});
}

const shared = ['<|endoftext|>', '<|startoftranscript|>', '<|notimestamps|>'];
const multilingual = [...shared.slice(0, 2), '<|en|>', '<|de|>', '<|translate|>', '<|transcribe|>', '<|notimestamps|>'];

describe('the start sequence of Whisper', () => {
  it('names the language and the task', () => {
    const tokens = tokensOf(multilingual);
    expect(tokens.startSequence('de')).toEqual([1, 3, 5]);
    expect(tokens.startSequence('de', { translate: true })).toEqual([1, 3, 4]);
  });

  it('has no task for a model that knows English only, which cannot translate', () => {
    const tokens = tokensOf(shared);
    expect(tokens.startSequence('de')).toEqual([1]);
    expect(() => tokens.startSequence(null, { translate: true })).toThrow(
      expect.objectContaining({ code: 'INVALID_REQUEST', param: 'model' }),
    );
  });
});
