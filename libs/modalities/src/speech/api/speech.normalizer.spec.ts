import { describe, expect, it } from 'vitest';
import type { SpeechRequest } from '../contract/speech.request.js';
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

function wire(members: Partial<SpeechRequest> = {}): SpeechRequest {
  return { input: 'Hello.', ...members };
}

describe('normalizeSpeech', () => {
  it('uses the default voice, format and speed of the model', () => {
    expect(normalizeSpeech(wire(), model)).toEqual({
      payload: { text: 'Hello.', voice: 'af_sky', sampleId: null, speed: 1, language: null, format: 'wav' },
      handle: null,
      streaming: false,
    });
  });

  it('treats null as absent', () => {
    const nothing = null as unknown as undefined;
    const { payload } = normalizeSpeech(wire({ voice: nothing, response_format: nothing, speed: nothing }), model);
    expect(payload).toMatchObject({ voice: 'af_sky', format: 'wav', speed: 1 });
  });

  it('uses the first voice of a model without the default one', () => {
    expect(normalizeSpeech(wire(), { ...model, voices: ['male', 'female'] }).payload.voice).toBe('male');
  });

  it.each(['alloy', 'AF_SKY', 'af_sky ', newVoiceHandle()])("rejects the voice %j and lists the model's", (voice) => {
    expect(() => normalizeSpeech(wire({ voice }), model)).toThrow(
      expect.objectContaining({
        code: 'INVALID_REQUEST',
        param: 'voice',
        message: expect.stringContaining('am_adam, af_sky') as string,
      }),
    );
  });

  it('rejects a format that the model does not write and lists its formats', () => {
    expect(() => normalizeSpeech(wire({ response_format: 'opus' }), model)).toThrow(
      expect.objectContaining({ param: 'response_format', message: expect.stringContaining('wav, mp3') as string }),
    );
  });

  it('returns a handle unchecked if the model clones voices', () => {
    const voice = newVoiceHandle();
    const { payload, handle } = normalizeSpeech(wire({ voice }), { ...model, cloning });
    expect([payload.voice, handle]).toEqual([null, voice]);
    expect(() => normalizeSpeech(wire({ voice: 'vv_short' }), { ...model, cloning })).toThrow();
  });
});
