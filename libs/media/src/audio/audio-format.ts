/** Supported audio output formats. */
export type AudioFormat = 'mp3' | 'opus' | 'aac' | 'flac' | 'wav' | 'pcm';

export const audioFormats: readonly AudioFormat[] = ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'];

export const audioContentTypes: Readonly<Record<AudioFormat, string>> = {
  mp3: 'audio/mpeg',
  opus: 'audio/opus',
  aac: 'audio/aac',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
};

/** Returns true for formats that need ffmpeg; WAV and PCM do not. */
export function needsFfmpeg(format: string): boolean {
  return format !== 'wav' && format !== 'pcm';
}
