import { describe, expect, it } from 'vitest';
import type { TaskRequest, TaskRunner } from '#inference/host';
import type { FrameLatents } from '#inference/tasks';
import type { VideoJobPayload } from '../contract/index.js';
import { FrameModel } from './frame-model.js';
import { videoFromText } from './from-text.js';

const words = { prompt: 'a boat', negativePrompt: 'rain', seed: 3 };
const payload: VideoJobPayload = {
  operation: 'from-text',
  inputs: [],
  places: [],
  words,
  width: 4,
  height: 2,
  fps: 8,
  frames: 3,
  scale: 1,
  audio: true,
  maxSeconds: 0,
  resultId: null,
  units: {},
};
const latents = Array.from({ length: 3 }, (_, index): FrameLatents => {
  return { channels: 1, height: 1, width: 1, data: Float32Array.of(index) };
});

function scripted(asked: TaskRequest[], stop?: AbortController): TaskRunner {
  return {
    runTask: (request, { onProgress }) => {
      asked.push(request);
      onProgress?.(0.5);
      if (request.task === 'animate') return Promise.resolve({ cancelled: false, output: { frames: latents } });
      if (asked.length === 3) stop?.abort(new Error('stopped'));
      const [grey = 0] = (request.input as FrameLatents).data;
      const image = { width: 4, height: 2, data: new Uint8Array(24).fill(grey) };
      return Promise.resolve({ cancelled: false, output: { image } });
    },
  };
}

async function video(asked: TaskRequest[], told: number[] = [], stop?: AbortController) {
  const signal = stop?.signal ?? new AbortController().signal;
  const model = new FrameModel(scripted(asked, stop), 'r', signal);
  return await videoFromText(payload, words, { model, progress: (percent) => told.push(percent) });
}

describe('text to video', () => {
  it('decodes the pixels of a frame on demand, and no more', async () => {
    const asked: TaskRequest[] = [];
    const told: number[] = [];
    const { frames, ...rest } = await video(asked, told);
    expect(rest).toMatchObject({ width: 4, height: 2, fps: { numerator: 8 }, expectedFrames: 3, donePercent: 80 });
    expect(told).toEqual([40]);
    expect(asked).toEqual([{ id: 'r.0', task: 'animate', input: { ...words, width: 4, height: 2, frames: 3 } }]);
    const greys: (number | undefined)[] = [];
    for await (const { pixels } of frames) {
      greys.push((await pixels)[0]);
      expect(asked).toHaveLength(1 + greys.length);
    }
    expect(greys).toEqual([0, 1, 2]);
  });

  it('stops between two frames', async () => {
    const asked: TaskRequest[] = [];
    const { frames } = await video(asked, [], new AbortController());
    const seen: Uint8Array[] = [];
    const watch = async (): Promise<void> => {
      for await (const { pixels } of frames) seen.push(await pixels);
    };
    await expect(watch()).rejects.toThrow('stopped');
    expect(seen).toHaveLength(2);
    expect(asked).toHaveLength(3);
  });
});
