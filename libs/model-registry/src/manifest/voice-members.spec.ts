import { describe, expect, it } from 'vitest';
import { exampleManifest } from '#test/example-manifest';
import type { ModelManifest } from './manifest.js';
import { offeredFormats, withMadeFormats } from './voice-members.js';

const known = ['mp3', 'opus', 'wav', 'pcm'] as const;
const speaker = (members: Record<string, unknown>): ModelManifest => ({
  ...exampleManifest(),
  type: 'tts',
  kindMembers: members,
});
const withoutFfmpeg = (format: string): boolean => format === 'wav' || format === 'pcm';

describe('formats that an installation can make', () => {
  it('stay as declared where all can be made', () => {
    const manifest = speaker({ supported_formats: ['mp3', 'wav'], default_format: 'mp3' });
    expect(withMadeFormats(manifest, () => true)).toBe(manifest);
    expect(withMadeFormats(exampleManifest(), withoutFfmpeg)).toEqual(exampleManifest());
  });

  it('lose the others, and the default moves to one that can be made', () => {
    const manifest = speaker({
      voices: ['one'],
      supported_formats: ['mp3', 'opus', 'wav', 'pcm'],
      default_format: 'mp3',
    });
    const { kindMembers } = withMadeFormats(manifest, withoutFfmpeg);
    expect(kindMembers).toEqual({ voices: ['one'], supported_formats: ['wav', 'pcm'], default_format: 'wav' });
    expect(offeredFormats(kindMembers ?? {}, known)).toEqual({ formats: ['wav', 'pcm'], defaultFormat: 'wav' });
  });

  it('keep a default that can be made', () => {
    const manifest = speaker({ supported_formats: ['mp3', 'wav', 'pcm'], default_format: 'pcm' });
    expect(withMadeFormats(manifest, withoutFfmpeg).kindMembers).toMatchObject({ default_format: 'pcm' });
  });
});
