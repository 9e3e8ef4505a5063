import { describe, expect, it } from 'vitest';
import { FormBody, readBody, UploadedFile } from '#platform/http';
import { TranscriptionRequest } from '../contract/transcription.request.js';
import { normalizeTranscription, normalizeTranslation, requireSupported } from './transcription.normalizer.js';

function form(fields: Record<string, string | string[]>, file: UploadedFile | null = upload()): TranscriptionRequest {
  const body = new FormBody();
  if (file !== null) body.add('file', file);
  for (const [name, values] of Object.entries(fields)) for (const value of [values].flat()) body.add(name, value);
  return readBody(TranscriptionRequest, { body } as never);
}

function upload(): UploadedFile {
  return new UploadedFile(Buffer.from('RIFF'), 'talk.wav', 'audio/wav');
}

const normalize = (fields: Record<string, string | string[]>) => normalizeTranscription(form(fields));

function issueOf(make: () => unknown): string {
  try {
    make();
  } catch (error) {
    return (error as Error).message;
  }
  return 'nothing';
}

describe('a transcription form', () => {
  it('defaults to JSON and greedy decoding', () => {
    expect(normalize({})).toEqual({
      format: 'json',
      streams: false,
      shown: { words: false, segments: false },
      options: { language: null, prompt: null, temperature: null, timestamps: 'none' },
    });
  });

  it.each([
    ['en', 'en'],
    ['EN_us', 'en'],
    ['eng', 'en'],
    ['ger', 'de'],
    ['deu', 'de'],
    ['iw', 'he'],
    ['jv', 'jw'],
    ['jw', 'jw'],
    ['nb', 'no'],
    ['nb-NO', 'no'],
    ['nn', 'nn'],
    ['fil', 'tl'],
    ['tl', 'tl'],
    ['cmn', 'zh'],
    ['zh-Hant-TW', 'zh'],
  ])('takes the language %s for %s', (sent, language) => {
    expect(normalize({ language: sent }).options.language).toBe(language);
  });

  it('takes every empty field for absent', () => {
    const names = ['model', 'response_format', 'timestamps', 'language', 'prompt', 'temperature', 'stream'];
    const empty = Object.fromEntries([...names, 'timestamp_granularities[]'].map((name) => [name, '']));
    expect(normalize(empty)).toEqual(normalize({}));
  });

  it('may ask for a stream of text', () => {
    expect(normalize({ stream: 'true' }).streams).toBe(true);
    expect(normalize({ stream: '1', response_format: 'text' }).streams).toBe(true);
    expect(normalize({ stream: 'false', response_format: 'srt' }).streams).toBe(false);
  });

  it('parses the texts of its fields', () => {
    const { shown, options } = normalize({
      timestamps: 'true',
      language: 'en-GB',
      prompt: 'Sluice',
      temperature: '0.4',
      stream: 'false',
      model: '',
    });
    expect(shown).toEqual({ words: true, segments: true });
    expect(options).toEqual({ language: 'en', prompt: 'Sluice', temperature: 0.4, timestamps: 'word' });
  });

  it.each([
    [{ response_format: 'text', timestamps: 'true' }, 'none', { words: false, segments: false }],
    [{ response_format: 'srt' }, 'segment', { words: false, segments: false }],
    [{ response_format: 'vtt' }, 'segment', { words: false, segments: false }],
    [{ response_format: 'verbose_json' }, 'segment', { words: false, segments: true }],
    [
      { response_format: 'verbose_json', 'timestamp_granularities[]': ['word'] },
      'word',
      { words: true, segments: false },
    ],
    [
      { response_format: 'verbose_json', 'timestamp_granularities[]': ['word', 'segment'] },
      'word',
      { words: true, segments: true },
    ],
  ])('asks the model for the times that %j shows', (fields, timestamps, shown) => {
    const normalized = normalize(fields as Record<string, string | string[]>);
    expect([normalized.options.timestamps, normalized.shown]).toEqual([timestamps, shown]);
  });

  it.each([
    ['response_format', { response_format: 'xml' }],
    ['timestamps', { timestamps: 'maybe' }],
    ['temperature', { temperature: '2' }],
    ['stream', { stream: 'true', response_format: 'srt' }],
    ['stream', { stream: 'true', response_format: 'verbose_json' }],
    ['stream', { stream: 'true', timestamps: 'true' }],
    ['stream', { stream: 'perhaps' }],
    ['language', { language: 'the queen’s' }],
    ['timestamp_granularities', { 'timestamp_granularities[]': ['char'] }],
    ['response_format', { response_format: ['json', 'text'] }],
  ])('rejects an invalid %s', (field, fields) => {
    expect(issueOf(() => normalize(fields as Record<string, string | string[]>))).toContain(field);
  });

  it('needs a file part and rejects base64 in a field', () => {
    expect(issueOf(() => form({ file: 'UklGRg==' }, null))).toContain('must be a file part');
    expect(issueOf(() => form({}, null))).toContain('file is required');
  });

  it('accepts an empty file, which is checked as a recording', () => {
    expect(form({}, new UploadedFile(Buffer.alloc(0), 'a.wav', 'audio/wav')).file.bytes).toHaveLength(0);
  });
});

describe('a translation', () => {
  it('is a transcription of its own kind', () => {
    const normalized = normalizeTranslation({ file: upload(), response_format: 'srt', prompt: 'Ada' });
    expect(normalized).toMatchObject({
      format: 'srt',
      options: { translate: true, timestamps: 'segment', language: null, prompt: 'Ada' },
    });
    expect(normalize({}).options).not.toHaveProperty('translate');
  });
});

describe('a model that only transcribes', () => {
  const options = normalize({}).options;
  const transducer = { id: 'a', family: 'parakeet', familyOptions: { languages: 'de,en' } };
  const moonshine = { id: 'a', family: 'moonshine' };

  it.each([
    ['model', { translate: true }],
    ['prompt', { prompt: 'Ada' }],
    ['language', { language: 'ja' }],
  ])('refuses what it cannot follow, by its %s', (param, changes) => {
    const check = (manifest: typeof moonshine) => () => requireSupported(manifest, { ...options, ...changes });
    for (const manifest of [transducer, moonshine]) {
      expect(check(manifest)).toThrow(expect.objectContaining({ code: 'INVALID_REQUEST', param }));
    }
    expect(check({ id: 'a', family: 'whisper' })).not.toThrow();
  });

  it.each([{}, { prompt: ' ' }, { language: 'en' }, { temperature: 0.5 }])('takes %j', (changes) => {
    for (const manifest of [transducer, moonshine]) {
      expect(() => requireSupported(manifest, { ...options, ...changes })).not.toThrow();
    }
  });

  it('takes any hint where its languages are unknown', () => {
    expect(() => requireSupported({ id: 'a', family: 'parakeet' }, { ...options, language: 'ja' })).not.toThrow();
  });
});
