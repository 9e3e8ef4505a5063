import type { TaskContext, TaskHandler } from '../engines/queued-task.engine.js';
import type { WarmUp } from '../contract/engine-loader.js';
import type { BlockRecognizer } from './block-recognizer.js';
import { type RecognitionInput, recognitionSampleRate, recognitionTask } from './speech-recognition.js';

const warmUpTask = 'warm-up';

/** What the engine of a family that recognises speech can do. */
export function recognitionHandlers(recognizer: BlockRecognizer): Record<string, TaskHandler> {
  return {
    [recognitionTask]: (input: RecognitionInput, context: TaskContext) => recognizer.recognize(input, context),
    [warmUpTask]: async ({ samples }: { samples: Float32Array }, context: TaskContext) => {
      await recognizer.warmUp(samples, context);
      return {};
    },
  };
}

/** A second of a tone: nobody speaks in it, but every graph runs over it once. */
export const recognitionWarmUp: WarmUp = {
  task: warmUpTask,
  input: {
    samples: Float32Array.from({ length: recognitionSampleRate }, (_, index) => 0.1 * Math.sin(index / 20)),
  },
};
