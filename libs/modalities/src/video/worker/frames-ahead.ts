import type { ClipFrame } from './video-clip.js';

/** One frame in the model, and one ready for the encoder. */
const maxAhead = 2;

/**
 * Yields the frames in order; while one is encoded, the model works on the following ones, at most `maxAhead`. Fails
 * with the first failure, even while an earlier frame is in progress. `onEnd` is called when no more frames are wanted,
 * and stops the work in progress.
 */
export async function* framesAhead(frames: AsyncIterable<ClipFrame>, onEnd: () => void): AsyncGenerator<Uint8Array> {
  const source = frames[Symbol.asyncIterator]();
  const requested: Promise<Uint8Array | null>[] = [];
  const failures: unknown[] = [];
  let failed: (error: unknown) => void = () => undefined;
  const ask = (): void => {
    const frame = source.next().then(({ done, value }) => (done === true ? null : value.pixels));
    // A frame may fail while nothing awaits it.
    frame.catch((error: unknown) => {
      failures.push(error);
      failed(error);
    });
    requested.push(frame);
  };
  // One shared promise for all failures would keep every frame in memory until the last.
  const unlessFailed = (frame: Promise<Uint8Array | null>): Promise<Uint8Array | null> =>
    new Promise((resolve, reject) => {
      failed = reject;
      if (failures.length > 0) reject(failures[0]);
      else frame.then(resolve, reject);
    });
  try {
    for (let count = 0; count < maxAhead; count++) ask();
    for (let next = requested.shift(); next !== undefined; next = requested.shift()) {
      const frame = await unlessFailed(next);
      if (frame === null) return;
      ask();
      yield frame;
    }
  } finally {
    onEnd();
    await source.return?.();
  }
}
