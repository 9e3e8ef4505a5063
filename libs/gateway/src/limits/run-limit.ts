import { PlatformError } from '#common';
import { maxRunFrames, maxRunPixels } from '#model-memory';
import { type FrameSize, sizeOfPixels } from '#media';
import type { ResolvedModel } from '#model-registry';
import { invalidField } from '../request/model-fields.js';

/** Images that one run of a model would work on. */
export interface RunDemand extends FrameSize {
  /** Field that chose the size, to name in errors. */
  param: string;
  /** Sides are multiples of this; default 1. */
  divisor?: number;
  /** Images or frames that are in memory together, and the field that chose their number. Default: one. */
  frames?: { count: number; param: string };
}

/** Maximum side in the message of an error; routes have their own. */
const maxSide = 65_536;

/**
 * Throws `INVALID_REQUEST` for a run that would take more memory than the workers of a model have for it, naming the
 * largest size of its shape, or the largest number of frames.
 */
export function requireRunFits({ manifest: { id }, runMemory }: ResolvedModel, demand: RunDemand): void {
  if (runMemory === null) return;
  const { width, height, divisor = 1, frames } = demand;
  const count = frames?.count ?? 1;
  const maxPixels = maxRunPixels(runMemory, count);
  if (width * height <= maxPixels) return;
  const maxCount = maxRunFrames(runMemory, width * height);
  if (frames !== undefined && maxCount >= 1) {
    const size = `${width} × ${height}`;
    throw tooBig(
      `${frames.param} asks for ${count} frames of ${size}; the model ${id} makes up to ${maxCount}`,
      frames.param,
    );
  }
  const pixels = Math.max(divisor ** 2, maxPixels);
  const largest = sizeOfPixels({ width, height }, { pixels, divisor, maxSide });
  const most = `the model ${id} works on up to ${largest.width} × ${largest.height} of this shape`;
  throw tooBig(`${demand.param} means ${width} × ${height} pixels; ${most}`, demand.param);
}

function tooBig(message: string, param: string): PlatformError {
  return invalidField(`${message} with the memory of this installation.`, param, 'too_big');
}
