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
export function needsFfmpeg(format: AudioFormat): boolean {
  return format !== 'wav' && format !== 'pcm';
}

/** ffmpeg encoder and container of each format, for audio written to a pipe. */
export const encoderArgs: Readonly<Record<Exclude<AudioFormat, 'wav' | 'pcm'>, readonly string[]>> = {
  // Without the header that would need a correction at the end, which a pipe does not allow.
  mp3: ['-c:a', 'libmp3lame', '-b:a', '128k', '-write_xing', '0', '-id3v2_version', '0', '-f', 'mp3'],
  opus: ['-c:a', 'libopus', '-b:a', '64k', '-ar', '48000', '-page_duration', '20000', '-f', 'ogg'],
  aac: ['-c:a', 'aac', '-b:a', '128k', '-f', 'adts'],
  flac: ['-c:a', 'flac', '-sample_fmt', 's16', '-f', 'flac'],
};
