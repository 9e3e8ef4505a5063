import { describe, expect, it } from 'vitest';
import { byteLevelTokenizer } from '#test/tiny-models/tiny-tokenizer';
import { TextTokenizer, type TokenizerConfig } from '../../text/index.js';
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

describe('the prompt of Whisper', () => {
  it('is text, whatever tokens it spells', () => {
    const { tokenizerJson, tokenizerConfig } = byteLevelTokenizer();
    const added = ['<|startoftranscript|>', '<|startofprev|>', '<|notimestamps|>', '<|transcribe|>'].map(
      (content, index) => ({ id: 900 + index, content, special: true }),
    );
    const file = { ...tokenizerJson, added_tokens: [...(tokenizerJson['added_tokens'] as typeof added), ...added] };
    const tokens = new WhisperTokens(TextTokenizer.fromFiles(file, tokenizerConfig as TokenizerConfig), {});
    const ids = tokens.promptTokens('a <|startoftranscript|><|endoftext|> b', 100);
    expect(ids[0]).toBe(901);
    expect(ids.slice(1).filter((id) => id >= 900)).toEqual([]);
    expect(tokens.decode(ids.slice(1))).toBe(' a <|startoftranscript|><|endoftext|> b');
  });
});

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
