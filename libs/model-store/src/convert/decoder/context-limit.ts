import { invalidFile } from '../invalid-file.js';
import type { DecoderShape } from './decoder-shape.js';

/** Longest rotary tables that are made; a model of a million tokens takes a quarter of it. */
const maxTableBytes = 2 ** 31;

/** Throws `INVALID_MODEL` for a context whose tables would be larger than most models. */
export function checkContext(fileName: string, { contextLength, rotary }: DecoderShape): void {
  const bytes = contextLength * rotary.dimensions * Float32Array.BYTES_PER_ELEMENT;
  if (bytes <= maxTableBytes) return;
  const needs = `its context of ${contextLength} tokens needs rotary tables of ${Math.round(bytes / 1e6)} MB`;
  throw invalidFile(fileName, `${needs}; shorten it with the option \`contextLength\``);
}
