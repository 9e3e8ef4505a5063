import { describe, expect, it } from 'vitest';
import { hintsFor, matchesWords, noMatch, type SearchedModel } from './search-words.js';

const whisper: SearchedModel = {
  id: 'whisper-tiny',
  name: 'Whisper Tiny',
  purpose: 'asr',
  about: 'Transcribes 99 languages.',
  license: 'MIT',
};

describe('words of a search', () => {
  it.each([['speech'], ['transcription'], ['stt'], ['ASR'], ['whisper', 'mit'], ['99']])(
    'find a model by %j',
    (...words) => {
      expect(matchesWords(whisper, words)).toBe(true);
    },
  );

  it('all have to occur', () => {
    expect(matchesWords(whisper, ['speech', 'voice'])).toBe(false);
    expect(matchesWords({ ...whisper, purpose: 'tts' }, ['speech', 'voice'])).toBe(true);
  });

  it('lead to the page of a kind that the list lacks', () => {
    expect(hintsFor(['Vision'])).toEqual([expect.stringContaining('docs/guides/vision.md')]);
    expect(hintsFor(['qwen3'])).toEqual([]);
    const lines = noMatch(['vlm'], ['chat', 'image']);
    expect(lines.join('\n')).toContain('kinds are chat, image.');
    expect(lines.join('\n')).toContain('docs/guides/vision.md');
    expect(lines.at(-1)).toContain('sluice models add hf:');
  });
});
