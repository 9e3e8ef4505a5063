import { PlatformError } from '#common';

/** Family names used in manifests, without importing the families. */
export const familyNames = [
  'coco-ssd',
  'cross-encoder',
  'decoder',
  'esrgan',
  'kokoro',
  'matting',
  'migan',
  'modnet',
  'moonshine',
  'musicgen',
  'nsfw-mobilenet',
  'parakeet',
  'piper',
  'pp-ocr',
  'rife',
  'stable-diffusion',
  'text-classification',
  'text-embedding',
  'text-to-video-sd',
  'tiny-tts',
  'u2net',
  'vision-language',
  'whisper',
] as const;

export type FamilyName = (typeof familyNames)[number];

/** Throws `INVALID_MODEL` naming the known families. */
export function assertFamily(name: string, modelId: string): asserts name is FamilyName {
  if ((familyNames as readonly string[]).includes(name)) return;
  const known = familyNames.join(', ');
  const text = `No family is called "${name}". There are: ${known}. Correct "family" in the manifest of ${modelId}.`;
  throw new PlatformError('INVALID_MODEL', text, 'family');
}
