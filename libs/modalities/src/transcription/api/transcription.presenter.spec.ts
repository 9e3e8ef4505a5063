import { describe, expect, it } from 'vitest';
import type { TranscriptSegment } from '../contract/transcription.events.js';
import { presentTranscript, presentVideoTranscript, Transcript } from './transcription.presenter.js';
import { writeSrt, writeVtt } from './transcription.presenter.js';

function segment(text: string, start: number, end: number, windowStart = 0): TranscriptSegment {
  const words = text
    .trim()
    .split(' ')
    .map((word, index) => ({ word, start: start + index / 10, end: start + (index + 1) / 10 }));
  const scores = { tokens: [1], temperature: 0, avgLogprob: -0.25, compressionRatio: 1.5, noSpeechProb: 0.01 };
  return { text, start, end, windowStart, words, ...scores };
}

function transcript(changed: Partial<TranscriptSegment> = {}): Transcript {
  const made = new Transcript();
  made.add({ type: 'transcript-part', segments: [{ ...segment(' Hello world.', 0.12345, 1), ...changed }] });
  made.add({ type: 'transcript-part', segments: [{ ...segment(' Bye.', 31, 32.5, 30), ...changed }] });
  made.add({ type: 'transcript-finished', language: 'en', durationSeconds: 33.25 });
  return made;
}

const nothing = { words: false, segments: false };

describe('a transcript', () => {
  it('joins its segments unchanged, with or without spaces', () => {
    expect(transcript().text).toBe('Hello world. Bye.');
    const made = new Transcript();
    made.add({ type: 'transcript-part', segments: [segment('こんにちは。', 0, 1), segment('世界', 1, 2)] });
    expect(made.text).toBe('こんにちは。世界');
  });

  it('is JSON with its length, and with times on request', () => {
    expect(presentTranscript(transcript(), { format: 'json', shown: nothing })).toEqual({
      contentType: 'application/json; charset=utf-8',
      body: { text: 'Hello world. Bye.', duration: 33.25 },
    });
    const { body } = presentTranscript(transcript(), { format: 'json', shown: { words: true, segments: true } });
    expect(body).toMatchObject({
      timestamps: {
        word: [
          { word: 'Hello', start: 0.123, end: 0.223 },
          { word: 'world.', start: 0.223 },
          { word: 'Bye.', start: 31 },
        ],
        segment: [
          { text: 'Hello world.', start: 0.123, end: 1 },
          { text: 'Bye.', start: 31, end: 32.5 },
        ],
      },
    });
  });

  it('omits words without an error if the model reports none', () => {
    const { body } = presentTranscript(transcript({ words: null }), {
      format: 'json',
      shown: { words: true, segments: true },
    });
    expect(Object.keys((body as { timestamps: object }).timestamps)).toEqual(['segment']);
  });

  it('is OpenAI’s verbose JSON', () => {
    const { body } = presentTranscript(transcript(), {
      format: 'verbose_json',
      shown: { words: true, segments: true },
    });
    expect(body).toMatchObject({
      task: 'transcribe',
      language: 'english',
      duration: 33.25,
      text: 'Hello world. Bye.',
      segments: [
        {
          id: 0,
          seek: 0,
          start: 0.123,
          end: 1,
          text: ' Hello world.',
          tokens: [1],
          temperature: 0,
          avg_logprob: -0.25,
          compression_ratio: 1.5,
          no_speech_prob: 0.01,
        },
        { id: 1, seek: 3_000 },
      ],
      words: [{ word: 'Hello' }, { word: 'world.' }, { word: 'Bye.' }],
      usage: { type: 'duration', seconds: 34 },
    });
    const wordsOnly = presentTranscript(transcript(), {
      format: 'verbose_json',
      shown: { words: true, segments: false },
    });
    expect(Object.keys(wordsOnly.body)).not.toContain('segments');
  });

  it('is plain text, also for a video', () => {
    expect(presentTranscript(transcript(), { format: 'text', shown: nothing }).body).toBe('Hello world. Bye.');
    expect(presentVideoTranscript(transcript(), 'text').body).toBe('Hello world. Bye.');
    expect(presentVideoTranscript(transcript(), 'json').body).toEqual({ transcript: 'Hello world. Bye.', lang: 'en' });
  });
});

describe('subtitles', () => {
  const cues = [
    { text: ' Hello\n\nworld -->', start: 0, end: 1.2345 },
    { text: ' Bye.', start: 3_599.9996, end: 3_661.5 },
  ];

  it('are SubRip', () => {
    expect(writeSrt(cues)).toBe(
      '1\n00:00:00,000 --> 00:00:01,235\nHello world ->\n\n2\n01:00:00,000 --> 01:01:01,500\nBye.\n',
    );
  });

  it('are WebVTT', () => {
    expect(writeVtt(cues)).toBe(
      'WEBVTT\n\n00:00:00.000 --> 00:00:01.235\nHello world ->\n\n01:00:00.000 --> 01:01:01.500\nBye.\n',
    );
  });

  it('are as empty as the transcript', () => {
    expect([writeSrt([]), writeVtt([])]).toEqual(['', 'WEBVTT\n']);
  });
});
