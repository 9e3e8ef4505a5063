import { PlatformError } from '#common';
import { invalidField } from '#gateway';
import { decodeBase64, identifyMedia, isDataUrl, type MediaContainer, wavFromPcm } from '#media';
import type { chatAudioFormats, ChatAudioPart } from '../../contract/chat.message.js';

type AudioFormat = (typeof chatAudioFormats)[number];

/** Maximum size of an audio part, in bytes after decoding. */
const maxBytes = 25 * 1024 * 1024;

/** PCM has no header: mono at this rate, signed, little-endian. */
const pcmSampleRate = 24_000;
const pcmBits: Partial<Record<AudioFormat, 16 | 24>> = { pcm16: 16, pcm24: 24 };

/** Containers of each format. AAC comes bare or in MP4, under either name. */
const containers: Record<AudioFormat, readonly MediaContainer[]> = {
  wav: ['wav'],
  mp3: ['mp3'],
  aiff: ['aiff'],
  aac: ['aac', 'mp4'],
  ogg: ['ogg'],
  flac: ['flac'],
  m4a: ['mp4', 'aac'],
  pcm16: ['wav'],
  pcm24: ['wav'],
};

/** The recording of an audio part. */
export interface AudioPartContent {
  /** A file with a header, also for PCM. */
  bytes: Buffer;
  containers: readonly MediaContainer[];
}

/**
 * Decodes an audio part. Rejects with `INVALID_REQUEST` for what is not base64, `INVALID_AUDIO_FORMAT` for audio of another
 * format than the part says, `PAYLOAD_TOO_LARGE` above 25 MB. `param` is the path of the part.
 */
export async function decodeAudioPart({ input_audio: audio }: ChatAudioPart, param: string): Promise<AudioPartContent> {
  const field = `${param}.input_audio.data`;
  if (isDataUrl(audio.data) || /^https?:/i.test(audio.data)) {
    throw invalidField(`${field} must be base64, not a URL.`, field);
  }
  const bytes = decodeBase64(audio.data, { maxBytes, param: field });
  // The request is checked already.
  const format = (audio.format ?? 'wav') as AudioFormat;
  const bits = pcmBits[format];
  if (bits !== undefined) {
    return {
      bytes: wavFromPcm(bytes, { sampleRate: pcmSampleRate, bitsPerSample: bits }),
      containers: containers[format],
    };
  }
  const { container } = await identifyMedia(bytes);
  if (container === null || !containers[format].includes(container)) {
    const message = `${field} is not audio of the format ${format}.`;
    throw new PlatformError('INVALID_AUDIO_FORMAT', message, field);
  }
  return { bytes, containers: containers[format] };
}
