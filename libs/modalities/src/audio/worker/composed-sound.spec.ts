import { describe, expect, it } from 'vitest';
import type { TaskRequest, TaskResult, TaskRunner } from '#inference/host';
import type { RunningJob } from '#queue';
import type { AudioJobPayload } from '../contract/index.js';
import { composedSound } from './composed-sound.js';

const wish = { seconds: 2, seed: 7 };
const made = { samples: Float32Array.of(0.5), sampleRate: 32_000 };

function jobOf(signal: AbortSignal, told: number[] = []): RunningJob<AudioJobPayload> {
  const payload: AudioJobPayload = {
    text: 'slow jazz',
    voice: null,
    speed: 1,
    language: null,
    format: 'wav',
    music: wish,
    units: {},
  };
  const job = { envelope: { requestId: 'r', payload }, signal, progress: (percent: number) => void told.push(percent) };
  return job as unknown as RunningJob<AudioJobPayload>;
}

function runnerOf(answer: (request: TaskRequest) => TaskResult): TaskRunner {
  return {
    runTask: (request, { onProgress }) => {
      onProgress?.(0.5);
      onProgress?.(1);
      return Promise.resolve(answer(request));
    },
  };
}

describe('music', () => {
  it('is one task, and tells how far it is', async () => {
    const told: number[] = [];
    const asked: TaskRequest[] = [];
    const runner = runnerOf((request) => {
      asked.push(request);
      return { cancelled: false, output: made };
    });
    const sound = composedSound(jobOf(new AbortController().signal, told), wish, runner);
    expect(await sound.next()).toEqual({ done: false, value: made });
    expect((await sound.next()).done).toBe(true);
    expect(asked).toEqual([{ id: 'r', task: 'compose', input: { prompt: 'slow jazz', ...wish } }]);
    expect(told).toEqual([50, 99]);
  });

  it('ends with the reason why its job was stopped', async () => {
    const stop = new AbortController();
    const runner = runnerOf(() => {
      stop.abort(new Error('stopped'));
      return { cancelled: true, output: null };
    });
    await expect(composedSound(jobOf(stop.signal), wish, runner).next()).rejects.toThrow('stopped');
    await expect(composedSound(jobOf(stop.signal), wish, runner).next()).rejects.toThrow('stopped');
  });

  it('fails where the host ends it without a reason', async () => {
    const runner = runnerOf(() => ({ cancelled: true, output: null }));
    const sound = composedSound(jobOf(new AbortController().signal), wish, runner);
    await expect(sound.next()).rejects.toMatchObject({ code: 'INFERENCE_FAILED' });
  });
});
