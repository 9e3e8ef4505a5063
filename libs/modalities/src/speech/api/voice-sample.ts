import { PlatformError } from '#common';
import { invalidField } from '#gateway';
import { decodeAudio, type MediaContainer, type MediaTools, probeAudio, sniffContainer } from '#media';
import type { VoiceCloning } from '#model-registry/manifest';

/** Maximum length of a voice recording, in seconds. */
export const maxSampleSeconds = 60;

/** Names of containers in manifests, and the detected container they mean. */
const containers: Readonly<Record<string, MediaContainer>> = {
  wav: 'wav',
  wave: 'wav',
  flac: 'flac',
  mp3: 'mp3',
  aac: 'aac',
  m4a: 'mp4',
  mp4: 'mp4',
  ogg: 'ogg',
  oga: 'ogg',
  opus: 'ogg',
  webm: 'webm',
};

/** Sample rate for decoding a recording whose header does not contain its length. */
const countingRate = 8_000;

/**
 * Checks that the model takes a recording. Throws `INVALID_AUDIO_FORMAT` for another container or no audio,
 * `INVALID_REQUEST` for one that is too short, `PAYLOAD_TOO_LARGE` for one that is too long.
 */
export async function checkVoiceSample(
  bytes: Buffer,
  cloning: VoiceCloning,
  { media, signal }: { media: MediaTools; signal: AbortSignal },
): Promise<void> {
  const container = sniffContainer(bytes);
  const accepted = cloning.accepted_formats.map((format) => containers[format.toLowerCase()]);
  if (container === null || !accepted.includes(container)) {
    const formats = cloning.accepted_formats.join(', ');
    throw new PlatformError('INVALID_AUDIO_FORMAT', `The recording must be one of: ${formats}.`, 'file');
  }
  const limits = { maxSeconds: maxSampleSeconds, signal };
  const { durationSeconds } = await probeAudio(media, bytes, limits);
  const seconds = durationSeconds ?? (await countSeconds(media, bytes, limits));
  if (seconds >= cloning.min_sample_seconds) return;
  const message = `The recording must last at least ${cloning.min_sample_seconds} seconds; this one lasts ${seconds.toFixed(1)}.`;
  throw invalidField(message, 'file', 'too_small');
}

async function countSeconds(
  media: MediaTools,
  bytes: Buffer,
  limits: { maxSeconds: number; signal: AbortSignal },
): Promise<number> {
  let samples = 0;
  for await (const part of decodeAudio(media, bytes, { sampleRate: countingRate, ...limits })) samples += part.length;
  return samples / countingRate;
}
