import { describe, expect, it } from 'vitest';
import type { TaskRequest, TaskResult, TaskRunner } from '#inference/host';
import type { RunningJob } from '#queue';
import type { AudioJobPayload } from '../contract/index.js';
import { composedAudio } from './composed-audio.js';

const options = { seconds: 2, seed: 7 };
const made = { samples: Float32Array.of(0.5), sampleRate: 32_000 };

function jobOf(signal: AbortSignal, told: number[] = []): RunningJob<AudioJobPayload> {
  const payload: AudioJobPayload = {
    text: 'slow jazz',
    voice: null,
    speed: 1,
    language: null,
    format: 'wav',
    music: options,
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
  it('runs as one task and reports progress', async () => {
    const told: number[] = [];
    const asked: TaskRequest[] = [];
    const runner = runnerOf((request) => {
      asked.push(request);
      return { cancelled: false, output: made };
    });
    const audio = composedAudio(jobOf(new AbortController().signal, told), options, runner);
    expect(await audio.next()).toEqual({ done: false, value: made });
    expect((await audio.next()).done).toBe(true);
    expect(asked).toEqual([{ id: 'r', task: 'compose', input: { prompt: 'slow jazz', ...options } }]);
    expect(told).toEqual([50, 99]);
  });

  it('rejects with the reason its job was stopped for', async () => {
    const stop = new AbortController();
    const runner = runnerOf(() => {
      stop.abort(new Error('stopped'));
      return { cancelled: true, output: null };
    });
    await expect(composedAudio(jobOf(stop.signal), options, runner).next()).rejects.toThrow('stopped');
    await expect(composedAudio(jobOf(stop.signal), options, runner).next()).rejects.toThrow('stopped');
  });

  it('fails when the host ends it without a reason', async () => {
    const runner = runnerOf(() => ({ cancelled: true, output: null }));
    const audio = composedAudio(jobOf(new AbortController().signal), options, runner);
    await expect(audio.next()).rejects.toMatchObject({ code: 'INFERENCE_FAILED' });
  });
});
