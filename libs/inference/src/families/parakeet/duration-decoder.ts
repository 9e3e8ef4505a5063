import { PlatformError } from '#common';
import type { TaskContext } from '../../engines/queued-task.engine.js';
import { argMax, chooseToken } from '../../recognition/token-choice.js';
import { Random } from '../../sampling/random.js';
import type { EncodedSpeech, TransducerGraphs } from './transducer-graphs.js';
import type { TransducerVocabulary } from './transducer-vocabulary.js';

/** A token, and when it was spoken. */
export interface EmittedToken {
  id: number;
  /** Frame of the encoder. */
  frame: number;
  /** Frames until the next token, as the model predicts them. */
  duration: number;
  /** Natural log-probability. */
  logprob: number;
}

export interface DurationDecoderOptions {
  graphs: TransducerGraphs;
  vocabulary: TransducerVocabulary;
  /** Maximum number of tokens at one frame. */
  maxTokensPerFrame: number;
}

/**
 * Greedy decoding of a token-and-duration transducer (arXiv:2304.06795): at each frame the model predicts a token and the
 * number of frames to advance.
 */
export class DurationDecoder {
  constructor(private readonly options: DurationDecoderOptions) {}

  async decode(
    speech: EncodedSpeech,
    { temperature }: { temperature: number },
    context: TaskContext,
  ): Promise<EmittedToken[]> {
    const { graphs, vocabulary, maxTokensPerFrame } = this.options;
    const { blank, size } = vocabulary;
    const text = graphs.begin(blank);
    // A fixed seed: the same recording gives the same text.
    const random = new Random(Math.round(temperature * 1_000));
    const emitted: EmittedToken[] = [];
    let atFrame = 0;
    for (let frame = 0; frame < speech.frames;) {
      await context.yieldToEventLoop();
      const logits = await context.measure(() => text.logits(speech.frame(frame)));
      if (logits.length < size + 2) throw noDurations();
      const duration = argMax(logits.subarray(size));
      const { id, logprob } = chooseToken(logits.subarray(0, size), temperature, random);
      if (id !== blank) {
        text.accept(id);
        emitted.push({ id, frame, duration, logprob });
        atFrame++;
      }
      const mustAdvance = id === blank || atFrame >= maxTokensPerFrame;
      const advance = duration === 0 && mustAdvance ? 1 : duration;
      if (advance > 0) atFrame = 0;
      frame += advance;
    }
    return emitted;
  }
}

function noDurations(): PlatformError {
  const text =
    'The model predicts no durations; of transducers, only those with tokens and durations (TDT) are served.';
  return new PlatformError('INVALID_MODEL', text);
}
