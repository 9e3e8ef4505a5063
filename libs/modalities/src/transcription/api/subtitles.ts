import type { TranscriptSegment } from '../contract/transcription.events.js';

type Cue = Pick<TranscriptSegment, 'text' | 'start' | 'end'>;

/** SubRip: numbered cues, a comma before the milliseconds. */
export function writeSrt(segments: readonly Cue[]): string {
  return segments
    .map((cue, index) => `${index + 1}\n${clock(cue.start, ',')} --> ${clock(cue.end, ',')}\n${lineOf(cue)}\n`)
    .join('\n');
}

/** WebVTT. */
export function writeVtt(segments: readonly Cue[]): string {
  const cues = segments.map((cue) => `${clock(cue.start, '.')} --> ${clock(cue.end, '.')}\n${lineOf(cue)}\n`);
  return ['WEBVTT\n', ...cues].join('\n');
}

/** `00:01:02,500`; SubRip always has hours. */
function clock(seconds: number, separator: ',' | '.'): string {
  const whole = Math.max(0, Math.round(seconds * 1_000));
  const part = (divisor: number, size: number): string => String(Math.floor(whole / divisor) % size).padStart(2, '0');
  return `${part(3_600_000, 1_000)}:${part(60_000, 60)}:${part(1_000, 60)}${separator}${String(whole % 1_000).padStart(3, '0')}`;
}

/** A blank line would end the cue, and an arrow would start another. */
function lineOf({ text }: Cue): string {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(' ')
    .replaceAll('-->', '->');
}
