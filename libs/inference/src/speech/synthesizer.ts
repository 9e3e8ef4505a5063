import { PlatformError } from '#common';
import type { TaskContext, TaskHandler } from '../engines/queued-task.engine.js';
import type { SpeakInput, SpeakOutput } from '../engines/speech.js';
import { withPause } from './pauses.js';

/** Voice and pace of a sentence, for one of the model's own voices. */
export interface SpeakSettings {
  voice: string;
  speed: number;
  language: string | null;
}

/** Synthesizes one sentence in one of the model's voices. */
export interface Synthesizer {
  readonly sampleRate: number;
  readonly voices: readonly string[];
  /** Returns mono samples; none if the sentence has nothing to speak. */
  synthesize(sentence: string, settings: SpeakSettings, context: TaskContext): Promise<Float32Array>;
}

/** Handles the task `speak`. Fails with `INVALID_REQUEST` for an unknown voice. */
export function speakHandler(speaker: Synthesizer): TaskHandler {
  const { sampleRate, voices } = speaker;
  return async ({ text, before, voice, speed, language }: SpeakInput, context): Promise<SpeakOutput> => {
    if (typeof voice !== 'string' || !voices.includes(voice)) {
      const message = typeof voice === 'string' ? 'This model has no such voice.' : 'This model does not clone voices.';
      throw new PlatformError('INVALID_REQUEST', message, 'voice');
    }
    await context.yieldToEventLoop();
    const samples = await speaker.synthesize(text, { voice, speed, language }, context);
    return { samples: withPause(samples, { sampleRate, before, speed }), sampleRate };
  };
}
