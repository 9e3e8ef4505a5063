import type { TaskContext, TaskHandler } from '../engines/queued-task.engine.js';
import type { SpeakInput, SpeakOutput, SpeakPart } from '../engines/speech.js';
import { withPause } from './pauses.js';
import { splitSentences } from './sentence-splitter.js';

export type SpeakSettings = Pick<SpeakInput, 'voice' | 'speed' | 'language'>;

/** A model that says one sentence. */
export interface Speaker {
  readonly sampleRate: number;
  /** Throws the `PlatformError` of a request it cannot fulfil. Called once, before anything is said. */
  check(settings: SpeakSettings): void;
  /** Mono samples; none where the sentence has nothing to say. */
  say(sentence: string, settings: SpeakSettings, context: TaskContext): Promise<Float32Array>;
}

/** The task `speak`: one sentence after another, each delivered before the next is begun, cancels heard in between. */
export function speakHandler(speaker: Speaker): TaskHandler {
  const { sampleRate } = speaker;
  return async ({ text, ...settings }: SpeakInput, context): Promise<SpeakOutput> => {
    speaker.check(settings);
    let characters = 0;
    for (const sentence of splitSentences(text)) {
      await context.breathe();
      const said = await speaker.say(sentence.text, settings, context);
      const { before } = sentence;
      const samples = withPause(said, { sampleRate, before, speed: settings.speed });
      characters += sentence.characters;
      context.part({ samples, sampleRate, characters: sentence.characters } satisfies SpeakPart);
    }
    return { sampleRate, characters };
  };
}
