import type { TaskContext } from '../../engines/queued-task.engine.js';
import type { SpeechWindow, WindowRecognizer, WindowSpeech } from '../../recognition/block-recognizer.js';
import type { MergedDecoder } from '../../recognition/merged-decoder.js';
import { refuseUnsupported } from '../../recognition/refuse-unsupported.js';
import { compressionRatio, loopedTokens } from '../../recognition/repetition.js';
import { recognitionSampleRate } from '../../recognition/speech-recognition.js';
import { chooseToken } from '../../recognition/token-choice.js';
import { type GraphSession, type GraphTensor, releaseKept } from '../../runtime/graph-session.js';
import { Random } from '../../sampling/random.js';
import type { TextTokenizer } from '../../text/index.js';

/** Maximum tokens per second of speech, as given by the authors. */
const maxTokensPerSecond = 6.5;
/** Trained on shorter audio; longer windows make the model skip sentences. */
const windowSeconds = 20;
/** Minimum number of samples that the graph's filters need. */
const shortestSamples = 1_600;
const loopCheckEvery = 12;
/** The language of all its models that are served. */
const language = 'en';

export interface MoonshineDependencies {
  encoder: GraphSession;
  decoder: MergedDecoder;
  tokenizer: TextTokenizer;
  startToken: number;
  endToken: number;
}

interface Written {
  tokens: number[];
  avgLogprob: number;
}

/**
 * Transcribes one window after another with Moonshine, which takes raw samples of any length and writes English. It
 * reports no word times; a segment is speech without a long pause.
 */
export class MoonshineRecognizer implements WindowRecognizer {
  readonly maxSeconds = windowSeconds;

  constructor(private readonly dependencies: MoonshineDependencies) {}

  async recognize(window: SpeechWindow, context: TaskContext): Promise<WindowSpeech> {
    const { samples, isCut } = window;
    refuseUnsupported(window, [language]);
    const duration = samples.length / recognitionSampleRate;
    await context.yieldToEventLoop();
    const temperature = window.temperature ?? 0;
    const heard = await context.measure(() => this.encode(samples));
    const { tokens, avgLogprob } = await this.write(heard, { duration, temperature }, context).finally(() =>
      releaseKept([heard]),
    );
    const whole = this.dependencies.tokenizer.decode(tokens, { stripLeadingSpaces: true }).trim();
    const text = isCut ? withoutLastWord(whole) : whole;
    const rest: Pick<WindowSpeech, 'language' | 'transcribedUntil' | 'needsOverlap'> = {
      language,
      transcribedUntil: null,
      needsOverlap: isCut,
    };
    if (text === '') return { ...rest, segments: [] };
    const scores = { temperature, avgLogprob, compressionRatio: compressionRatio(text), noSpeechProb: 0 };
    return { ...rest, segments: [{ text: ` ${text}`, start: 0, end: duration, words: null, tokens, ...scores }] };
  }

  private async encode(samples: Float32Array): Promise<GraphTensor> {
    const { encoder, decoder } = this.dependencies;
    const heard = new Float32Array(Math.max(shortestSamples, samples.length));
    heard.set(samples);
    const feeds = { input_values: encoder.tensor('float32', heard, [1, heard.length]) };
    return await decoder.encode(encoder, feeds, 'last_hidden_state');
  }

  private async write(
    heard: GraphTensor,
    { duration, temperature }: { duration: number; temperature: number },
    context: TaskContext,
  ): Promise<Written> {
    const { decoder, startToken, endToken } = this.dependencies;
    const text = decoder.begin(heard);
    // A fixed seed: the same recording gives the same text.
    const random = new Random(Math.round(temperature * 1_000));
    const max = Math.ceil(duration * maxTokensPerSecond);
    const tokens: number[] = [];
    let logprobs = 0;
    try {
      while (tokens.length < max) {
        await context.yieldToEventLoop();
        const { logits } = await context.measure(() => text.feed([tokens.at(-1) ?? startToken]));
        const { id, logprob } = chooseToken(logits, temperature, random);
        logprobs += logprob;
        if (id === endToken) break;
        tokens.push(id);
        if (tokens.length % loopCheckEvery === 0 && loopedTokens(tokens) > 0) break;
      }
    } finally {
      text.release();
    }
    const looped = loopedTokens(tokens);
    const kept = looped === 0 ? tokens : tokens.slice(0, -looped);
    return { tokens: kept, avgLogprob: logprobs / (tokens.length + 1) };
  }
}

/** The window was cut during speech, so its last word may be incomplete. The next window includes it again. */
function withoutLastWord(text: string): string {
  return text.split(/\s+/).slice(0, -1).join(' ');
}
