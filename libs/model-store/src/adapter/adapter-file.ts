import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { PlatformError } from '#common';
import type { Projection } from './base-graph.js';

/*
 * An installed adapter: `adapter.json` lists the projections that it adds to, and `adapter.bin` holds their matrices in
 * float32, in the order of the graph and with the factor of the product in the second: A `[inputs, rank]`, then
 * B `[rank, outputs]`.
 */

export const adapterFile = 'adapter.json';
export const adapterDataFile = 'adapter.bin';
const format = 'sluice-lora/1';

export interface AdapterProjection extends Projection {
  rank: number;
}

export interface AdapterIndex {
  format: string;
  /** In the order of their matrices. */
  projections: AdapterProjection[];
}

export function adapterIndex(projections: AdapterProjection[]): AdapterIndex {
  return { format, projections };
}

/** Matrices of one projection. */
export interface AdapterMatrices extends AdapterProjection {
  /** `[inputs, rank]`. */
  a: Float32Array;
  /** `[rank, outputs]`. */
  b: Float32Array;
}

const floatBytes = Float32Array.BYTES_PER_ELEMENT;

function floatsOf({ inputs, outputs, rank }: AdapterProjection): number {
  return (inputs + outputs) * rank;
}

/** Reads an installed adapter. Throws `INVALID_MODEL` for files that do not belong together. */
export async function readAdapter(directory: string): Promise<Map<string, AdapterMatrices>> {
  const { projections } = JSON.parse(await readText(join(directory, adapterFile))) as AdapterIndex;
  const file = await open(join(directory, adapterDataFile), 'r');
  try {
    const { size } = await file.stat();
    const expected = projections.reduce((sum, projection) => sum + floatsOf(projection), 0) * floatBytes;
    if (size !== expected) {
      throw new PlatformError(
        'INVALID_MODEL',
        `${adapterDataFile} has ${size} bytes, and ${adapterFile} needs ${expected}.`,
      );
    }
    const read = new Map<string, AdapterMatrices>();
    let position = 0;
    for (const projection of projections) {
      const values = new Float32Array(floatsOf(projection));
      await file.read(new Uint8Array(values.buffer), 0, values.byteLength, position);
      position += values.byteLength;
      const split = projection.inputs * projection.rank;
      read.set(projection.name, { ...projection, a: values.subarray(0, split), b: values.subarray(split) });
    }
    return read;
  } finally {
    await file.close();
  }
}

async function readText(path: string): Promise<string> {
  const file = await open(path, 'r');
  try {
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}
