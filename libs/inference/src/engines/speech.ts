import type { TaskRequest } from '../contract/task.js';

/*
 * What a family that speaks agrees on with who asks it. A long text is cut by `splitSentences`, and each sentence is a
 * task of its own: texts take turns, sound goes out before the next sentence is begun, and a host that dies takes one
 * sentence along, which its successor says again.
 */

/** Name of the task. */
export const speakTask = 'speak';

/** What follows a sentence, which decides how long the silence behind it is. */
export type SpeechBreak = 'clause' | 'sentence' | 'paragraph' | 'end';

/** A recording whose voice is to be spoken with; mono. */
export interface VoiceSample {
  samples: Float32Array;
  sampleRate: number;
}

export interface SpeakInput {
  /** One sentence; a longer text is one long breath. */
  text: string;
  before: SpeechBreak;
  /** One of the model's voices, or a recording for models that clone. */
  voice: string | VoiceSample;
  /** 0.25 to 4; 1 is the model's own pace. */
  speed: number;
  /** What the caller says the text is written in, `en-GB`; null: the voice's own. A language it lacks is ignored. */
  language: string | null;
}

/** The sentence and the silence behind it. */
export interface SpeakOutput {
  /** Mono, in [-1, 1]; empty where there was nothing to say. */
  samples: Float32Array;
  /** The same for every sentence of a model. */
  sampleRate: number;
}

export type SpeakRequest = TaskRequest<SpeakInput> & { task: typeof speakTask };
