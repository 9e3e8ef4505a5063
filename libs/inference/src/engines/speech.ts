import type { TaskRequest } from './task.js';

/*
 * What a family that speaks agrees on with who asks it. The task is called `speak`; every sentence is a part, made
 * before the next one is begun.
 */

/** A recording whose voice is to be spoken with; mono. */
export interface VoiceSample {
  samples: Float32Array;
  sampleRate: number;
}

export interface SpeakInput {
  text: string;
  /** One of the model's voices, or a recording for models that clone. */
  voice: string | VoiceSample;
  /** 0.25 to 4; 1 is the model's own pace. */
  speed: number;
  /** What the caller says the text is written in, `en-GB`; null: the voice's own. A language it lacks is ignored. */
  language: string | null;
}

/** One sentence and the silence behind it. Mono, in [-1, 1]; empty where there was nothing to say. */
export interface SpeakPart {
  samples: Float32Array;
  /** The same for all parts of a model. */
  sampleRate: number;
  /** Characters (code points) of the input it stands for, space included; all parts together stand for all of it. */
  characters: number;
}

export interface SpeakOutput {
  sampleRate: number;
  /** Code points of the input. */
  characters: number;
}

export type SpeakRequest = TaskRequest<SpeakInput> & { task: 'speak' };
