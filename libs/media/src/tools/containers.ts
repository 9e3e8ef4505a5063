/** Containers that are read, each with the one demuxer that is allowed to look at it. */
const demuxers = {
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

/** `mp4` stands for its family (m4a, mov, 3gp), `webm` for Matroska, `ogg` for all that Ogg carries. */
export type MediaContainer = keyof typeof demuxers;

/**
 * The container by its first bytes, or null. Names and content types lie; and ffmpeg, left to choose, also reads
 * playlists, which name other files and hosts.
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

/** MP3 and ADTS have no header of their own but for a tag that both may wear. */
function sniffFrames(head: Buffer): MediaContainer | null {
  let offset = 0;
  if (head.toString('latin1', 0, 3) === 'ID3' && head.length >= 10) {
    const size = [6, 7, 8, 9].reduce((sum, index) => sum * 128 + ((head[index] ?? 0) & 0x7f), 0);
    offset = 10 + size;
    // A tag with a picture reaches beyond what was read; ADTS in such a file is not worth a second look.
    if (offset + 2 > head.length) return 'mp3';
  }
  const first = head[offset] ?? 0;
  const second = head[offset + 1] ?? 0;
  if (first !== 0xff || (second & 0xe0) !== 0xe0) return null;
  if ((second & 0xf6) === 0xf0) return 'aac';
  return (second & 0x06) === 0 ? null : 'mp3';
}

/** Arguments that open a file in this container and nothing else: no other protocol, no file that it may name. */
export function inputArgs(container: MediaContainer, path: string): string[] {
  return ['-protocol_whitelist', 'file', '-f', demuxers[container], '-i', `file:${path}`];
}

/** First arguments of every run. */
export const quietly = ['-hide_banner', '-loglevel', 'error', '-max_alloc', '536870912'] as const;
