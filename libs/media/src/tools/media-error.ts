import { PlatformError } from '#common';
import type { MediaTools } from './media-tools.js';
import { ToolFailure } from './tool-process.js';

/** Kind of a source; decides its error codes. */
export type MediaNoun = 'recording' | 'video';

const codes = { recording: 'INVALID_AUDIO_FORMAT', video: 'INVALID_VIDEO_FORMAT' } as const;

/** `problem` follows "The recording" or "The video". */
export function invalidMedia(noun: MediaNoun, problem: string, cause?: unknown): PlatformError {
  return new PlatformError(codes[noun], `The ${noun} ${problem}.`, null, { cause });
}

export function tooLong(noun: MediaNoun, maxSeconds: number): PlatformError {
  const message = `The ${noun} is longer than ${maxSeconds} seconds.`;
  return noun === 'video'
    ? new PlatformError('VIDEO_DURATION_TOO_LONG', message)
    : new PlatformError('PAYLOAD_TOO_LARGE', message);
}

/**
 * Maps a tool failure on reading: unreadable input is the client's error, a timeout a neutral one, a lost tool ours.
 */
export function decodeFailure(tools: MediaTools, noun: MediaNoun, error: unknown): Error {
  if (!(error instanceof ToolFailure)) return error instanceof Error ? error : new Error(String(error));
  if (error.end === 'too-long') return new PlatformError('REQUEST_TIMEOUT', `Reading the ${noun} took too long.`);
  if (error.end === 'lost') return lost(tools, `The ${noun} could not be read at the moment.`, error);
  if (error.end === 'too-large') return invalidMedia(noun, 'needs too much memory to read', error);
  return invalidMedia(noun, 'is damaged or cut off', error);
}

/** Maps a tool failure on writing: our error, because we made the input. */
export function encodeFailure(tools: MediaTools, error: unknown): Error {
  if (!(error instanceof ToolFailure)) return error instanceof Error ? error : new Error(String(error));
  if (error.end === 'lost') return lost(tools, 'The media could not be written at the moment.', error);
  if (error.end === 'too-long') return new PlatformError('REQUEST_TIMEOUT', 'Writing the media took too long.');
  if (error.end === 'too-large') {
    return new PlatformError('INFERENCE_FAILED', 'Writing the media needs too much memory.', null, { cause: error });
  }
  const full = /No space left on device/i.test(error.detail);
  if (full) return new PlatformError('STORAGE_FULL', 'The service has no room to make this media at the moment.');
  return new PlatformError('INFERENCE_FAILED', 'The media could not be written.', null, { cause: error });
}

function lost(tools: MediaTools, message: string, cause: ToolFailure): PlatformError {
  // It may be gone, and another one there.
  tools.distrust();
  return new PlatformError(tools.lostToolCode, message, null, { cause });
}
