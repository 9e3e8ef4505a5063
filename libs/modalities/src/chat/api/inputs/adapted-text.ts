import { clockTime } from '../job/prepared-parts.js';
import { withoutFindingFrames } from '../job/prompt-frames.js';

const sources = { audio: 'an audio message', video: 'the sound of a video' } as const;

/** Maximum bytes of speech in a second: 25 characters, which may have two bytes. */
const bytesPerSecond = 50;
const frameBytes = 128;

/** Where a transcribed sound comes from, and what else of a video enters the prompt. */
export type SoundSource = { kind: 'audio' } | { kind: 'video'; frames: 'shown' | 'described' | 'none' };

const framesOfVideo = {
  shown: '',
  described: '',
  none: ', whose images are not shown',
} as const;

/** Returns the text that stands for a recording in the prompt, marked as a transcript. An empty one means no speech. */
export function describeTranscript(from: SoundSource, transcript: string): string {
  const source = from.kind === 'audio' ? sources.audio : `${sources.video}${framesOfVideo[from.frames]}`;
  if (transcript === '') return `[Transcript of ${source}: no speech]`;
  return `[Transcript of ${source}]\n${withoutFindingFrames(transcript)}\n[End of transcript]`;
}

/** Returns how long the text of a recording usually is at most, in bytes. */
export function transcriptBytes(seconds: number): number {
  return Math.ceil(seconds * bytesPerSecond) + frameBytes;
}

/** Returns the text that stands for an image: what each adapter found, marked as such. */
export function describeImageFindings(findings: readonly string[]): string {
  const found = joined(findings);
  if (found === '') return '[An image in which neither text nor a known object was found]';
  return `[Found in an image, which is not shown]\n${found}\n[End of image]`;
}

/** Returns the text that stands for the frames of a video; each has what every adapter found in it, and its time. */
export function describeFrameFindings(frames: readonly { seconds: number; findings: readonly string[] }[]): string {
  const found = frames
    .map(({ seconds, findings }) => ({ seconds, text: joined(findings) }))
    .filter(({ text }) => text !== '');
  if (found.length === 0) return '[Frames of a video in which neither text nor a known object was found]';
  const lines = found.map(({ seconds, text }) => `At ${clockTime(seconds)}:\n${text}`);
  return `[Found in ${frames.length} frames of a video, which are not shown]\n${lines.join('\n')}\n[End of video frames]`;
}

/** Text in an image cannot look like the end of what was found in it. */
function joined(findings: readonly string[]): string {
  return withoutFindingFrames(findings.filter((text) => text !== '').join('\n'));
}
