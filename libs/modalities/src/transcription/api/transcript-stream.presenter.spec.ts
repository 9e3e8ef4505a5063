import { describe, expect, it } from 'vitest';
import type { TranscriptSegment } from '../contract/transcription.events.js';
import { TranscriptStreamPresenter } from './transcript-stream.presenter.js';

function part(...texts: string[]) {
  const scores = { tokens: [], temperature: 0, avgLogprob: 0, compressionRatio: 1, noSpeechProb: 0 };
  const segments = texts.map((text): TranscriptSegment => {
    return { text, start: 0, end: 1, windowStart: 0, words: null, ...scores };
  });
  return { type: 'transcript-part' as const, segments };
}

const end = { type: 'transcript-finished', language: 'en', durationSeconds: 60 } as const;

function stream(parts: ReturnType<typeof part>[]): unknown[] {
  const presenter = new TranscriptStreamPresenter();
  const events = [...parts, end].flatMap((event) => presenter.present(event));
  return [...events, ...presenter.finish()].map((json) => JSON.parse(json) as unknown);
}

describe('a streamed transcript', () => {
  it('has a delta for each part that adds text, and ends with the whole', () => {
    expect(stream([part(' Hello', ' world. '), part(), part(' Bye. ')])).toEqual([
      { type: 'transcript.text.delta', delta: 'Hello world.' },
      { type: 'transcript.text.delta', delta: '  Bye.' },
      { type: 'transcript.text.done', text: 'Hello world.  Bye.' },
    ]);
  });

  it('has no delta without text', () => {
    expect(stream([part(' ')])).toEqual([{ type: 'transcript.text.done', text: '' }]);
  });
});
