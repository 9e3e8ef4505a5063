import { PlatformError } from '#common';
import type { TaskRunner } from '#inference/host';
import { type ComposeInput, type ComposeOutput, composeTask } from '#inference/tasks';
import type { RunningJob } from '#queue';
import type { AudioJobPayload, MusicOptions } from '../contract/index.js';

/** Generates a piece of music in one part. Rejects with the signal's reason when the job was stopped. */
export async function* composedAudio(
  job: RunningJob<AudioJobPayload>,
  { seconds, seed }: MusicOptions,
  runner: TaskRunner,
): AsyncGenerator<ComposeOutput, void> {
  const { envelope, signal } = job;
  signal.throwIfAborted();
  const input: ComposeInput = { prompt: envelope.payload.text, seconds, seed };
  const { cancelled, output } = await runner.runTask(
    { id: envelope.requestId, task: composeTask, input },
    { signal, onProgress: (fraction) => job.progress(Math.min(99, fraction * 100)) },
  );
  if (cancelled || output === null) {
    signal.throwIfAborted();
    throw new PlatformError('INFERENCE_FAILED', 'The music could not be generated.');
  }
  yield output as ComposeOutput;
}
