import type { GraphSession } from '../../runtime/graph-session.js';
import type { DeviceCache } from './cache-copier.js';
import type { RunRow } from './device-runner.js';

/** Tokens of one run that drivers compute right with the operator's plain kernel. Above it has another one. */
export const safePiece = 31;

/** Tokens of the trial: the other kernel's first ones, and a part of its next tile. */
const trialTokens = 48;

/** Part of the largest logit by which the kernels may differ: their sums are in another order. */
const tolerance = 0.02;

/** A way to compute tokens and forget them again. */
export interface PieceTrial {
  session: Pick<GraphSession, 'provider'>;
  vocabularySize: number;
  open: (capacity: number) => Promise<DeviceCache>;
  read: (cache: DeviceCache, row: RunRow) => Promise<Float32Array>;
  close: (cache: DeviceCache) => void;
}

/**
 * Returns how many tokens of a prompt a run may take; infinity if any number. For 32 tokens or more, the operator of WebGPU has a kernel
 * that depends on the driver's subgroups, and returns wrong numbers with some. Found by computing a prompt both ways.
 */
export async function findPieceLength(trial: PieceTrial): Promise<number> {
  if (trial.session.provider === 'cpu') return Infinity;
  const ids = Array.from({ length: trialTokens }, (_, index) => (index * 7_919 + 11) % trial.vocabularySize);
  const compute = async (pieces: number[]): Promise<Float32Array> => {
    const cache = await trial.open(trialTokens);
    try {
      let logits: Float32Array = new Float32Array(0);
      let length = 0;
      for (const size of pieces) {
        logits = await trial.read(cache, { tokenIds: ids.slice(length, length + size), length, adapter: 0 });
        length += size;
      }
      return logits;
    } finally {
      trial.close(cache);
    }
  };
  const whole = await compute([trialTokens]);
  const inPieces = await compute([safePiece, trialTokens - safePiece]);
  const largest = inPieces.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const isSame = whole.every((value, index) => Math.abs(value - (inPieces[index] ?? 0)) <= tolerance * largest);
  return isSame ? Infinity : safePiece;
}
