import { describe, expect, it } from 'vitest';
import type { TaskOptions, TaskResult, TaskRunner } from '#inference/host';
import type { ClipFrame } from './video-clip.js';
import { FrameModel } from './frame-model.js';
import { framesAhead } from './frames-ahead.js';

interface AskedTask extends Pick<TaskOptions, 'signal'> {
  id: string;
  finish(result: TaskResult): void;
  fail(error: Error): void;
}

/** A model that responds when the test says so; a stopped task ends as cancelled, as in a real host. */
class SlowModel implements TaskRunner {
  readonly asked: AskedTask[] = [];

  runTask({ id }: { id: string }, { signal }: TaskOptions): Promise<TaskResult> {
    return new Promise((resolve, reject) => {
      this.asked.push({ id, signal, finish: resolve, fail: reject });
      signal.addEventListener('abort', () => resolve({ cancelled: true, output: null }));
    });
  }

  /** The frame whose only sample is `grey`. */
  make(index: number, grey = index): void {
    const image = { width: 1, height: 1, data: Uint8Array.of(grey) };
    this.asked[index]?.finish({ cancelled: false, output: { image } });
  }
}

function video(length: number) {
  const model = new SlowModel();
  const job = new AbortController();
  const ended = new AbortController();
  const state = { isSourceClosed: false };
  const signal = AbortSignal.any([job.signal, ended.signal]);
  const frameModel = new FrameModel(model, 'r', signal);
  const source = async function* (): AsyncGenerator<ClipFrame> {
    try {
      for (let index = 0; index < length; index++) {
        yield { pixels: frameModel.upscaled({ width: 1, height: 1, data: Uint8Array.of(index) }, 2) };
      }
    } finally {
      state.isSourceClosed = true;
    }
  };
  return { model, job, ended: ended.signal, state, frames: framesAhead(source(), () => ended.abort()) };
}

/** Waits until nothing is pending that could run by itself. */
const quiet = () => new Promise((resolve) => setImmediate(resolve));

describe('prefetched frames', () => {
  it('arrive in order, whichever is finished first, at most two ahead', async () => {
    const { model, frames, state } = video(5);
    const greys: (number | undefined)[] = [];
    for (let index = 0; index < 5; index++) {
      const next = frames.next();
      await quiet();
      expect(model.asked).toHaveLength(Math.min(index + 2, 5));
      if (index === 3) model.make(4);
      model.make(index);
      greys.push(((await next).value as Uint8Array)[0]);
      // The encoder has this frame now.
      await quiet();
      expect(model.asked).toHaveLength(Math.min(index + 3, 5));
    }
    expect(await frames.next()).toEqual({ done: true, value: undefined });
    expect(greys).toEqual([0, 1, 2, 3, 4]);
    expect(model.asked.map(({ id }) => id)).toEqual(['r.0', 'r.1', 'r.2', 'r.3', 'r.4']);
    expect(state.isSourceClosed).toBe(true);
  });

  it('reject with the reason of a job that is stopped while two of them are in progress', async () => {
    const { model, job, frames, state } = video(5);
    const first = frames.next();
    await quiet();
    model.make(0);
    await first;
    const second = frames.next();
    await quiet();
    job.abort(new Error('stopped'));
    await expect(second).rejects.toThrow('stopped');
    expect(model.asked).toHaveLength(3);
    expect(model.asked.every(({ signal }) => signal.aborted)).toBe(true);
    expect(state.isSourceClosed).toBe(true);
  });

  it('fail with a later frame while an earlier one is in progress, and stop that one', async () => {
    const { model, ended, frames, state } = video(5);
    const first = frames.next();
    await quiet();
    model.asked[1]?.fail(new Error('device lost'));
    await expect(first).rejects.toThrow('device lost');
    expect(ended.aborted).toBe(true);
    expect(model.asked).toHaveLength(2);
    expect(state.isSourceClosed).toBe(true);
  });

  it('fail at the next frame when one failed while the encoder was busy', async () => {
    const { model, frames } = video(5);
    const first = frames.next();
    await quiet();
    model.make(0);
    await first;
    await quiet();
    // The one after the next; nothing awaits either of them.
    model.asked[2]?.fail(new Error('device lost'));
    await quiet();
    await expect(frames.next()).rejects.toThrow('device lost');
  });

  it('are abandoned when the encoder wants no more', async () => {
    const { model, ended, frames, state } = video(5);
    const first = frames.next();
    await quiet();
    model.make(0);
    await first;
    await quiet();
    await frames.return(undefined);
    expect(ended.aborted).toBe(true);
    expect(model.asked).toHaveLength(3);
    expect(state.isSourceClosed).toBe(true);
  });

  it('fail with the error of the image source', async () => {
    const source = async function* (): AsyncGenerator<ClipFrame> {
      yield { pixels: Uint8Array.of(7) };
      await quiet();
      throw new Error('damaged');
    };
    const frames = framesAhead(source(), () => undefined);
    expect((await frames.next()).value).toEqual(Uint8Array.of(7));
    await expect(frames.next()).rejects.toThrow('damaged');
  });
});
