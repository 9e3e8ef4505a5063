import { PlatformError } from '#common';
import { invalidField } from '#gateway';
import { decodeAudio, type MediaContainer, type MediaTools, probeAudio, sniffContainer } from '#media';
import type { VoiceCloning } from '#model-registry/manifest';

/** Longest recording of a voice, in seconds. */
export const maxSampleSeconds = 60;

/** How model records name containers, and what the first bytes of a file tell. */
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

/** Rate at which a recording is decoded whose header does not say how long it is. */
const countingRate = 8_000;

/**
 * Says whether a recording is one that the model takes. Throws `INVALID_AUDIO_FORMAT` for another container and for what
 * is no sound, `INVALID_REQUEST` for one that is too short, `PAYLOAD_TOO_LARGE` for one that is too long.
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
