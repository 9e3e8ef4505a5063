import type { ClipFrame } from './video-clip.js';

/** One that the model works on, and one that is there when it has done that. */
const maxAhead = 2;

/**
 * The frames in their order; while one is encoded, the model works on those after it, `mostAhead` at most. Fails with the
 * first that fails, also while an earlier one is being made. `onEnd` is called when no more frames are wanted, and stops
 * what is being made by then.
 */
export async function* framesAhead(frames: AsyncIterable<ClipFrame>, onEnd: () => void): AsyncGenerator<Uint8Array> {
  const source = frames[Symbol.asyncIterator]();
  const asked: Promise<Uint8Array | null>[] = [];
  const failures: unknown[] = [];
  let failed: (error: unknown) => void = () => undefined;
  const ask = (): void => {
    const frame = source.next().then(({ done, value }) => (done === true ? null : value.pixels));
    // Nobody may be waiting for a frame when one fails.
    frame.catch((error: unknown) => {
      failures.push(error);
      failed(error);
    });
    asked.push(frame);
  };
  // No race with one promise for all failures: that would hold every frame until the last.
  const made = (frame: Promise<Uint8Array | null>): Promise<Uint8Array | null> =>
    new Promise((resolve, reject) => {
      failed = reject;
      if (failures.length > 0) reject(failures[0]);
      else frame.then(resolve, reject);
    });
  try {
    for (let count = 0; count < maxAhead; count++) ask();
    for (let next = asked.shift(); next !== undefined; next = asked.shift()) {
      const frame = await made(next);
      if (frame === null) return;
      ask();
      yield frame;
    }
  } finally {
    onEnd();
    await source.return?.();
  }
}
