import type { ChatPart } from '../../contract/chat.message.js';

const sources = { input_audio: 'an audio message', video_url: 'the sound of a video, whose images are not shown' };

/** Maximum bytes of speech in a second: 25 characters, which may have two bytes. */
const bytesPerSecond = 50;
const frameBytes = 128;

/** Returns the text that stands for a recording in the prompt, marked as a transcript. An empty one means no speech. */
export function describeTranscript(type: ChatPart['type'] & keyof typeof sources, transcript: string): string {
  const source = sources[type];
  if (transcript === '') return `[Transcript of ${source}: no speech]`;
  return `[Transcript of ${source}]\n${transcript}\n[End of transcript]`;
}

/** Returns how long the text of a recording usually is at most, in bytes. */
export function transcriptBytes(seconds: number): number {
  return Math.ceil(seconds * bytesPerSecond) + frameBytes;
}
