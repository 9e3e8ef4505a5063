import { describe, expect, it } from 'vitest';
import type { ModelManifest } from '#model-registry/manifest';
import { exampleManifest } from '#test/example-manifest';
import type { QueueAudioRequest } from '../contract/audio.request.js';
import { type MusicModel, musicModel } from './music.model.js';
import { normalizeMusic, secondsOfMusic } from './music.normalizer.js';

const body = (more: Partial<QueueAudioRequest> = {}): QueueAudioRequest => ({
  model: 'm',
  prompt: 'slow jazz',
  ...more,
});

function manifestOf(changes: Partial<ModelManifest>): ModelManifest {
  return exampleManifest({ id: 'm', type: 'music', constraints: undefined, pricing: undefined, ...changes });
}

function modelOf(kindMembers: Record<string, unknown>, familyOptions: Record<string, number> = {}): MusicModel {
  return musicModel(manifestOf({ family: 'musicgen', familyOptions, kindMembers }));
}

const model = modelOf({ min_duration: 2, max_duration: 20, default_duration: 8, min_prompt_length: 3 });

describe('a request for music', () => {
  it('has the requested length and seed, or the default length and a random seed', () => {
    expect(normalizeMusic(body({ duration_seconds: '12', seed: 5 }), model)).toEqual({
      text: 'slow jazz',
      voice: null,
      speed: 1,
      language: null,
      format: 'mp3',
      music: { seconds: 12, seed: 5 },
    });
    const [one, other] = [normalizeMusic(body(), model).music, normalizeMusic(body(), model).music];
    expect(one?.seconds).toBe(8);
    expect(one?.seed).not.toBe(other?.seed);
    expect(normalizeMusic(body({ seed: 0 }), model).music?.seed).toBe(0);
  });

  it.each([
    [{ lyrics_prompt: 'la la' }, 'lyrics_prompt'],
    [{ lyrics_optimizer: false }, 'lyrics_optimizer'],
    [{ loop: true }, 'loop'],
    [{ voice: 'af_sky' }, 'voice'],
    [{ language_code: 'en' }, 'language_code'],
    [{ speed: 1 }, 'speed'],
    [{ force_instrumental: true }, 'force_instrumental'],
    [{ prompt: 'ab' }, 'prompt'],
    [{ prompt: 'x'.repeat(1_001) }, 'prompt'],
    [{ duration_seconds: 1 }, 'duration_seconds'],
    [{ duration_seconds: 21 }, 'duration_seconds'],
  ])('is rejected with the invalid field: %j', (more, param) => {
    expect(() => normalizeMusic(body(more), model)).toThrow(
      expect.objectContaining({ code: 'INVALID_REQUEST', param }),
    );
  });

  it('may ask for instrumental music if the model supports it', () => {
    const instrumental = modelOf({ supports_force_instrumental: true });
    expect(normalizeMusic(body({ force_instrumental: true }), instrumental).music?.seconds).toBe(10);
  });
});

describe('the lengths of a model', () => {
  it('are those it lists, within the limit of its family', () => {
    const listed = modelOf({ duration_options: [15, 30, 60] });
    expect(secondsOfMusic(null, listed)).toBe(15);
    expect(secondsOfMusic(30, listed)).toBe(30);
    expect(() => secondsOfMusic(60, listed)).toThrow('must be one of: 15, 30');
    expect(secondsOfMusic(60, modelOf({ max_duration: 60 }, { maxSeconds: 90 }))).toBe(60);
  });

  it('cannot be chosen if the model lists none', () => {
    expect(secondsOfMusic(undefined, modelOf({ default_duration: 12 }))).toBe(12);
    expect(() => secondsOfMusic(12, modelOf({ default_duration: 12 }))).toThrow('not taken');
  });

  it('do not exist for a family that makes no music', () => {
    expect(() => musicModel(manifestOf({ family: 'decoder' }))).toThrow(
      expect.objectContaining({ code: 'INVALID_MODEL' }),
    );
  });
});
