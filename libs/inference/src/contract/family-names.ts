import { PlatformError } from '#common';

/** Every family by the name manifests use; light, for those who load none. */
export const familyNames = [
  'decoder',
  'esrgan',
  'kokoro',
  'migan',
  'modnet',
  'moonshine',
  'musicgen',
  'nsfw-mobilenet',
  'rife',
  'stable-diffusion',
  'text-embedding',
  'text-to-video-sd',
  'tiny-tts',
  'u2net',
  'whisper',
] as const;

export type FamilyName = (typeof familyNames)[number];

/** Throws `INVALID_MODEL`, naming those there are. */
export function assertFamily(name: string, modelId: string): asserts name is FamilyName {
  if ((familyNames as readonly string[]).includes(name)) return;
  const known = familyNames.join(', ');
  const text = `No family is called "${name}". There are: ${known}. Correct "family" in the manifest of ${modelId}.`;
  throw new PlatformError('INVALID_MODEL', text, 'family');
}
