import type { TaskContext, TaskHandler } from '../engines/queued-task.engine.js';
import type { WarmUp } from '../contract/engine-loader.js';
import type { BlockRecognizer } from './block-recognizer.js';
import { type RecognitionInput, recognitionSampleRate, recognitionTask } from './speech-recognition.js';

const warmUpTask = 'warm-up';

/** Tasks supported by the engine of a speech recognition family. */
export function recognitionHandlers(recognizer: BlockRecognizer): Record<string, TaskHandler> {
  return {
    [recognitionTask]: (input: RecognitionInput, context: TaskContext) => recognizer.recognize(input, context),
    [warmUpTask]: async ({ samples }: { samples: Float32Array }, context: TaskContext) => {
      await recognizer.warmUp(samples, context);
      return {};
    },
  };
}

/** One second of a tone. It contains no speech, but runs every graph once. */
export const recognitionWarmUp: WarmUp = {
  task: warmUpTask,
  input: {
    samples: Float32Array.from({ length: recognitionSampleRate }, (_, index) => 0.1 * Math.sin(index / 20)),
  },
};
