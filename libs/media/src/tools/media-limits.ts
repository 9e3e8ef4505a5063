import { mebibyte } from '#common/values';
import { availableProcessors } from '#platform/process';
import type { ResourceLimits } from '#platform/sandbox';
import type { MediaTask } from './media-task.js';

/** Limits of one run. The watched memory is below what the kernel allows, and its excess is named as such. */
export interface MediaLimits extends ResourceLimits {
  /** All memory of the process; watched on Linux. */
  maxResidentBytes: number;
}

/** Maximum resident memory: of samples, and of frames. Encoding frames of 4096 × 4096 pixels takes half of it. */
const residentBytes = { audio: 768 * mebibyte, video: 3 * 2 ** 30 };
/** Stacks of threads and reserved heaps, which count before they are used. */
const reservedBytes = 2 ** 30;
/** The index of a video, which is written at its end and then moved to its beginning. */
const indexBytes = 64 * mebibyte;
const openFiles = 256;

/** What a run may use. Only the writer of a video may write a file. */
export function limitsOf(task: MediaTask, timeoutMs: number): MediaLimits {
  const isVideo = ['read-frames', 'read-key-frame', 'write-video'].includes(task.kind);
  const maxResidentBytes = residentBytes[isVideo ? 'video' : 'audio'];
  // Decoders and encoders of video use all processors, those of audio one.
  const processors = isVideo ? availableProcessors() : 2;
  return {
    maxResidentBytes,
    memoryBytes: maxResidentBytes + reservedBytes,
    cpuSeconds: Math.ceil(timeoutMs / 1_000) * processors,
    fileBytes: task.kind === 'write-video' ? task.maxBytes + indexBytes : 0,
    openFiles,
  };
}
