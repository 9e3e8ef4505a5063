import { type SpeakInput, type SpeakOutput, speakTask, splitSentences } from '#inference/tasks';
import { serveTasks } from '../bare-tasks.js';

interface VoiceRun {
  text: string;
  voice: string;
}

// Processes a text in the same way as the worker.
serveTasks(async (tasks, { text, voice }: VoiceRun) => {
  const startedAt = performance.now();
  let samples = 0;
  for (const { text: words, before } of splitSentences(text)) {
    const input: SpeakInput = { text: words, before, voice, speed: 1, language: null };
    samples += (await tasks.perform<SpeakOutput>(speakTask, input)).samples.length;
  }
  return { samples, ms: performance.now() - startedAt };
});
