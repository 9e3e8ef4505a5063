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

/**
 * Detects the container by its first bytes; null if unknown. Names and content types are unreliable. ffmpeg's own
 * detection would also read playlists, which name other files and hosts.
 */
export function sniffContainer(head: Buffer): MediaContainer | null {
  const text = (start: number, end: number): string => head.toString('latin1', start, end);
  if (/^(RIFF|RF64)$/.test(text(0, 4)) && text(8, 12) === 'WAVE') return 'wav';
  if (text(0, 4) === 'FORM' && /^AIF[FC]$/.test(text(8, 12))) return 'aiff';
  if (text(0, 4) === 'fLaC') return 'flac';
  if (text(0, 4) === 'OggS') return 'ogg';
  if (/^(ftyp|moov|mdat|wide|free|skip)$/.test(text(4, 8))) return 'mp4';
  if (head.length >= 4 && head.readUInt32BE(0) === 0x1a45dfa3) return 'webm';
  if (head.length >= 4 && head.readUInt32BE(0) === 0x000001ba) return 'mpeg';
  if (head[0] === 0x47 && head[188] === 0x47 && head[376] === 0x47) return 'mpegts';
  return sniffFrames(head);
}

/** Detects MP3 and ADTS, which have no header except a tag that both may carry. */
function sniffFrames(head: Buffer): MediaContainer | null {
  let offset = 0;
  if (head.toString('latin1', 0, 3) === 'ID3' && head.length >= 10) {
    const size = [6, 7, 8, 9].reduce((sum, index) => sum * 128 + ((head[index] ?? 0) & 0x7f), 0);
    offset = 10 + size;
    // A tag with an image extends beyond the bytes read; ADTS with such a tag is not supported.
    if (offset + 2 > head.length) return 'mp3';
  }
  const first = head[offset] ?? 0;
  const second = head[offset + 1] ?? 0;
  if (first !== 0xff || (second & 0xe0) !== 0xe0) return null;
  if ((second & 0xf6) === 0xf0) return 'aac';
  return (second & 0x06) === 0 ? null : 'mp3';
}
