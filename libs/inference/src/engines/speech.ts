import type { TaskRequest } from '../contract/task.js';

/*
 * Input and output types of the speech task. `splitSentences` splits a long text, and each sentence is a separate task.
 * Texts therefore take turns, and audio is sent before the next sentence starts. A host that dies affects one sentence,
 * which its replacement repeats.
 */

/** Name of the task. */
export const speakTask = 'speak';

/** What follows a sentence, which decides the length of the pause after it. */
export type SpeechBreak = 'clause' | 'sentence' | 'paragraph' | 'end';

/** Recording of the voice to clone; mono. */
export interface VoiceSample {
  samples: Float32Array;
  sampleRate: number;
}

export interface SpeakInput {
  /** One sentence. Longer text is spoken without pauses between sentences. */
  text: string;
  before: SpeechBreak;
  /** One of the model's voices, or a recording for models that clone voices. */
  voice: string | VoiceSample;
  /** 0.25 to 4; 1 is the model's own pace. */
  speed: number;
  /**
   * Language of the text given by the client, such as `en-GB`; null for the voice's own. Unsupported languages are
   * ignored.
   */
  language: string | null;
}

/** The sentence and the pause after it. */
export interface SpeakOutput {
  /** Mono, in [-1, 1]; empty if there was nothing to speak. */
  samples: Float32Array;
  /** The same for every sentence of a model. */
  sampleRate: number;
}

export type SpeakRequest = TaskRequest<SpeakInput> & { task: typeof speakTask };
