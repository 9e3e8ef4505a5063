import { PlatformError } from '#common';
import type { TaskContext, TaskHandler } from '../engines/queued-task.engine.js';
import type { SpeakInput, SpeakOutput } from '../engines/speech.js';
import { withPause } from './pauses.js';

/** How a sentence is to be said by one of the model's own voices. */
export interface SpeakSettings {
  voice: string;
  speed: number;
  language: string | null;
}

/** A model that says one sentence in a voice of its own. */
export interface Synthesizer {
  readonly sampleRate: number;
  readonly voices: readonly string[];
  /** Mono samples; none where the sentence has nothing to say. */
  say(sentence: string, settings: SpeakSettings, context: TaskContext): Promise<Float32Array>;
}

/** The task `speak`. Fails with `INVALID_REQUEST` for a voice that is not the model's. */
export function speakHandler(speaker: Synthesizer): TaskHandler {
  const { sampleRate, voices } = speaker;
  return async ({ text, before, voice, speed, language }: SpeakInput, context): Promise<SpeakOutput> => {
    if (typeof voice !== 'string' || !voices.includes(voice)) {
      const message = typeof voice === 'string' ? 'This model has no such voice.' : 'This model does not clone voices.';
      throw new PlatformError('INVALID_REQUEST', message, 'voice');
    }
    await context.yieldToEventLoop();
    const said = await speaker.say(text, { voice, speed, language }, context);
    return { samples: withPause(said, { sampleRate, before, speed }), sampleRate };
  };
}
