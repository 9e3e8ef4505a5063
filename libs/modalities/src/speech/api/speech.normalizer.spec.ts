import { describe, expect, it } from 'vitest';
import { validateBody } from '#platform/validation';
import { SpeechRequest } from '../contract/speech.request.js';
import type { SpeechModel } from './speech.model.js';
import { normalizeSpeech } from './speech.normalizer.js';
import { newVoiceHandle } from './voice-handle.js';

const model: SpeechModel = {
  id: 'kokoro',
  voices: ['am_adam', 'af_sky'],
  cloning: null,
  formats: ['wav', 'mp3'],
  defaultFormat: 'wav',
};
const cloning: SpeechModel['cloning'] = {
  mode: 'zero_shot',
  accepted_formats: ['wav'],
  min_sample_seconds: 1,
  retention_days: 7,
};

function body(members: Partial<SpeechRequest> = {}): SpeechRequest {
  return { input: 'Hello.', ...members };
}

describe('normalizeSpeech', () => {
  it('uses the default voice, format and speed of the model', () => {
    expect(normalizeSpeech(body(), model)).toEqual({
      payload: { text: 'Hello.', voice: 'af_sky', sampleId: null, speed: 1, language: null, format: 'wav' },
      handle: null,
      streaming: false,
    });
  });

  it.each(['sse', 'json', 7])('refuses a stream_format of %j by its name', (stream_format) => {
    const asked = { ...body(), stream_format } as SpeechRequest;
    expect(() => normalizeSpeech(asked, model)).toThrow(
      expect.objectContaining({ code: 'INVALID_REQUEST', param: 'stream_format' }),
    );
    expect(() => normalizeSpeech({ ...body(), stream_format: 'audio' } as SpeechRequest, model)).not.toThrow();
  });

  it('treats null as absent', () => {
    const nothing = null as unknown as undefined;
    const { payload } = normalizeSpeech(body({ voice: nothing, response_format: nothing, speed: nothing }), model);
    expect(payload).toMatchObject({ voice: 'af_sky', format: 'wav', speed: 1 });
  });

  it('uses the first voice of a model without the default one', () => {
    expect(normalizeSpeech(body(), { ...model, voices: ['male', 'female'] }).payload.voice).toBe('male');
  });

  it.each([
    ['alloy', ['am_adam', 'af_sky', 'af_alloy'], 'af_alloy'],
    ['Alloy', ['am_adam', 'af_alloy'], 'af_alloy'],
    ['alloy', ['alloy', 'af_alloy'], 'alloy'],
    ['alloy', ['male', 'female'], 'male'],
    ['ash', ['male', 'female'], 'female'],
    ['shimmer', ['only'], 'only'],
  ])('uses a voice of the model for OpenAI’s %s', (voice, voices, expected) => {
    expect(normalizeSpeech(body({ voice }), { ...model, voices }).payload.voice).toBe(expected);
  });

  it('takes a voice as an object', () => {
    expect(normalizeSpeech(body({ voice: { id: 'am_adam' } }), model).payload.voice).toBe('am_adam');
    expect(normalizeSpeech(body({ voice: { id: '' } }), model).payload.voice).toBe('af_sky');
    const handle = newVoiceHandle();
    expect(normalizeSpeech(body({ voice: { id: handle } }), { ...model, cloning }).handle).toBe(handle);
  });

  it.each([7, {}, { id: 7 }, 'x'.repeat(513), { id: 'x'.repeat(513) }])(
    'refuses the voice %j by its field',
    (voice) => {
      expect(() => validateBody(SpeechRequest, { input: 'Hello.', voice })).toThrow(
        expect.objectContaining({ code: 'INVALID_REQUEST', param: 'voice' }),
      );
    },
  );

  it.each(['nobody', 'AF_SKY', 'af_sky ', newVoiceHandle()])("rejects the voice %j and lists the model's", (voice) => {
    expect(() => normalizeSpeech(body({ voice }), model)).toThrow(
      expect.objectContaining({
        code: 'INVALID_REQUEST',
        param: 'voice',
        message: expect.stringContaining('am_adam, af_sky') as string,
      }),
    );
  });

  it('rejects a format that the model does not write and lists its formats', () => {
    expect(() => normalizeSpeech(body({ response_format: 'opus' }), model)).toThrow(
      expect.objectContaining({ param: 'response_format', message: expect.stringContaining('wav, mp3') as string }),
    );
  });

  it('returns a handle unchecked if the model clones voices', () => {
    const voice = newVoiceHandle();
    const { payload, handle } = normalizeSpeech(body({ voice }), { ...model, cloning });
    expect([payload.voice, handle]).toEqual([null, voice]);
    expect(() => normalizeSpeech(body({ voice: 'vv_short' }), { ...model, cloning })).toThrow();
  });
});
