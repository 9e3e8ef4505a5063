import {
  recognitionBlockSeconds,
  type RecognitionInput,
  type RecognitionOutput,
  recognitionSampleRate,
  recognitionTask,
} from '#inference/tasks';
import { serveTasks } from '../bare-tasks.js';

const blockSamples = recognitionBlockSeconds * recognitionSampleRate;

interface SpeechRun {
  samples: Float32Array;
  language: string | null;
  words: boolean;
}

// Processes a recording in the same way as the worker.
serveTasks(async (tasks, { samples, language, words }: SpeechRun) => {
  const startedAt = performance.now();
  let memory: RecognitionOutput['memory'] | null = null;
  let text = '';
  for (let at = 0; at < samples.length;) {
    const block = samples.slice(at, at + blockSamples);
    const isLast = at + block.length >= samples.length;
    const overrides = { language, prompt: null, temperature: null, timestamps: words ? 'word' : 'none' } as const;
    const input: RecognitionInput = { samples: block, isLast, memory, ...overrides };
    const output: RecognitionOutput = await tasks.perform(recognitionTask, input);
    text += output.segments.map((segment) => segment.text).join('');
    ({ memory } = output);
    at += output.consumedSamples;
  }
  return { text, ms: performance.now() - startedAt };
});
