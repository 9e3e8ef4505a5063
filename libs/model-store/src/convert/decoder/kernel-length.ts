import { invalidFile } from '../invalid-file.js';
import type { DecoderSource } from './decoder-source.js';

/** Reads how many tokens a channel of a convolution sees, the newest included. */
export function kernelLength({ parameters, fileName, architecture }: DecoderSource, key: string): number {
  const length = parameters.size(key);
  if (length >= 2) return length;
  throw invalidFile(fileName, `its \`${architecture}.${key}\` is ${length}, less than 2`);
}
