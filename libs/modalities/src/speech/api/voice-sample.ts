import { PlatformError } from '#common';
import { invalidField } from '#gateway';
import { containerNamed, identifyMedia, measureAudio, type MediaTools } from '#media';
import type { VoiceCloning } from '#model-registry/manifest';

/** Maximum length of a voice recording, in seconds. */
export const maxSampleSeconds = 60;

/**
 * Checks that the model takes a recording. Throws `INVALID_AUDIO_FORMAT` for another container or no audio,
 * `INVALID_REQUEST` for one that is too short, `PAYLOAD_TOO_LARGE` for one that is too long.
 */
export async function checkVoiceSample(
  bytes: Buffer,
  cloning: VoiceCloning,
  { media, signal }: { media: MediaTools; signal: AbortSignal },
): Promise<void> {
  const { container } = await identifyMedia(bytes);
  if (container === null || !cloning.accepted_formats.map(containerNamed).includes(container)) {
    const formats = cloning.accepted_formats.join(', ');
    throw new PlatformError('INVALID_AUDIO_FORMAT', `The recording must be one of: ${formats}.`, 'file');
  }
  const seconds = await measureAudio(media, bytes, { maxSeconds: maxSampleSeconds, signal });
  if (seconds >= cloning.min_sample_seconds) return;
  const message = `The recording must last at least ${cloning.min_sample_seconds} seconds; this one lasts ${seconds.toFixed(1)}.`;
  throw invalidField(message, 'file', 'too_small');
}
