import { findFrames, readFrameHeader } from './frame-headers.js';
import { maxTagHeaderBytes, tagBytes } from './tags.js';

/** Supported containers, each with the only demuxer that may read it. */
export const demuxers = {
  wav: 'wav',
  flac: 'flac',
  ogg: 'ogg',
  mp3: 'mp3',
  aac: 'aac',
  mp4: 'mp4',
  webm: 'matroska',
  aiff: 'aiff',
  mpeg: 'mpeg',
  mpegts: 'mpegts',
} as const;

/** `mp4` includes its family (m4a, mov, 3gp), `webm` Matroska, `ogg` everything in Ogg. */
export type MediaContainer = keyof typeof demuxers;

/** Names and file extensions of containers of audio. */
const names: Readonly<Record<string, MediaContainer>> = {
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

/** Returns the container that a name or file extension such as `m4a` stands for; null if unknown. */
export function containerNamed(name: string): MediaContainer | null {
  return names[name.toLowerCase()] ?? null;
}

/** A container, and where it begins in what was examined. */
export interface FoundContainer {
  container: MediaContainer;
  offset: number;
}

/** Tags that may precede a container; more are an attack. */
export const maxTags = 16;
/** Bytes behind the tags in which frames are searched. */
export const searchedBytes = 65_536;

/**
 * Detects the container by its first bytes; null if unknown. Names and content types are unreliable. ffmpeg's own
 * detection would also read playlists, which name other files and hosts. Tags and what else precedes the first frames
 * of a stream are skipped. A file whose tags extend beyond `bytes` is taken for mp3.
 */
export function sniffContainer(bytes: Buffer): MediaContainer | null {
  let offset = 0;
  for (let tags = 0; tags < maxTags; tags += 1) {
    const tag = tagBytes(bytes.subarray(offset, offset + maxTagHeaderBytes));
    if (tag === 0) break;
    offset += tag;
    if (offset + 2 > bytes.length) return 'mp3';
  }
  return findContainer(bytes.subarray(offset, offset + searchedBytes))?.container ?? null;
}

/** Detects the container in bytes without a tag. Streams may begin later: the first one of two frames counts. */
export function findContainer(bytes: Buffer): FoundContainer | null {
  const container = sniffSignature(bytes) ?? sniffFrame(bytes);
  if (container !== null) return { container, offset: 0 };
  const offset = findFrames(bytes);
  const frame = offset < 0 ? null : readFrameHeader(bytes, offset);
  return frame === null ? null : { container: frame.container, offset };
}

function sniffSignature(head: Buffer): MediaContainer | null {
  const text = (start: number, end: number): string => head.toString('latin1', start, end);
  if (/^(RIFF|RF64)$/.test(text(0, 4)) && text(8, 12) === 'WAVE') return 'wav';
  if (text(0, 4) === 'FORM' && /^AIF[FC]$/.test(text(8, 12))) return 'aiff';
  if (text(0, 4) === 'fLaC') return 'flac';
  if (text(0, 4) === 'OggS') return 'ogg';
  if (/^(ftyp|moov|mdat|wide|free|skip)$/.test(text(4, 8))) return 'mp4';
  if (head.length >= 4 && head.readUInt32BE(0) === 0x1a45dfa3) return 'webm';
  if (head.length >= 4 && head.readUInt32BE(0) === 0x000001ba) return 'mpeg';
  if (head[0] === 0x47 && head[188] === 0x47 && head[376] === 0x47) return 'mpegts';
  return null;
}

/** Detects a first frame of MP3 or ADTS; one is enough at the very beginning. */
function sniffFrame(head: Buffer): MediaContainer | null {
  const [first = 0, second = 0] = head;
  if (first !== 0xff || (second & 0xe0) !== 0xe0) return null;
  if ((second & 0xf6) === 0xf0) return 'aac';
  return (second & 0x06) === 0 ? null : 'mp3';
}
