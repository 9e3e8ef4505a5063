import type { TaskContext } from '../../engines/queued-task.engine.js';
import type { SpeechWindow, WindowRecognizer, WindowSpeech } from '../../recognition/block-recognizer.js';
import type { MergedDecoder } from '../../recognition/merged-decoder.js';
import { compressionRatio, loopedTokens } from '../../recognition/repetition.js';
import { recognitionSampleRate } from '../../recognition/speech-recognition.js';
import { chooseToken } from '../../recognition/token-choice.js';
import type { GraphSession, GraphTensor } from '../../runtime/graph-session.js';
import { Random } from '../../sampling/random.js';
import type { TextTokenizer } from '../../text/index.js';

/** Nobody says more in a second; the figure is the authors'. */
const maxTokensPerSecond = 6.5;
/** What it was trained on is shorter; longer windows make it forget sentences. */
const windowSeconds = 20;
/** The graph's own filters need so much to hear anything. */
const shortestSamples = 1_600;
const loopCheckEvery = 12;

export interface MoonshineParts {
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
 * One window after another through Moonshine: it hears samples as they are, for as long as they last, and writes
 * English. It tells no times; a segment is what was said without a long pause.
 */
export class MoonshineRecognizer implements WindowRecognizer {
  readonly maxSeconds = windowSeconds;

  constructor(private readonly parts: MoonshineParts) {}

  async recognize(window: SpeechWindow, context: TaskContext): Promise<WindowSpeech> {
    const { samples, isCut } = window;
    const duration = samples.length / recognitionSampleRate;
    await context.yieldToEventLoop();
    const heard = await context.measure(() => this.encode(samples));
    const temperature = window.temperature ?? 0;
    const { tokens, avgLogprob } = await this.write(heard, { duration, temperature }, context);
    const whole = this.parts.tokenizer.decode(tokens, { stripLeadingSpaces: true }).trim();
    const text = isCut ? withoutLastWord(whole) : whole;
    const rest: Pick<WindowSpeech, 'language' | 'heardUntil' | 'needsOverlap'> = {
      language: 'en',
      heardUntil: null,
      needsOverlap: isCut,
    };
    if (text === '') return { ...rest, segments: [] };
    const scores = { temperature, avgLogprob, compressionRatio: compressionRatio(text), noSpeechProb: 0 };
    return { ...rest, segments: [{ text: ` ${text}`, start: 0, end: duration, words: null, tokens, ...scores }] };
  }

  private async encode(samples: Float32Array): Promise<GraphTensor> {
    const { encoder } = this.parts;
    const heard = new Float32Array(Math.max(shortestSamples, samples.length));
    heard.set(samples);
    const feeds = { input_values: encoder.tensor('float32', heard, [1, heard.length]) };
    const { last_hidden_state: states } = await encoder.run(feeds, ['last_hidden_state']);
    return states as GraphTensor;
  }

  private async write(
    heard: GraphTensor,
    { duration, temperature }: { duration: number; temperature: number },
    context: TaskContext,
  ): Promise<Written> {
    const { decoder, startToken, endToken } = this.parts;
    const text = decoder.begin(heard);
    // A fixed seed: the same recording gives the same text.
    const random = new Random(Math.round(temperature * 1_000));
    const max = Math.ceil(duration * maxTokensPerSecond);
    const tokens: number[] = [];
    let logprobs = 0;
    while (tokens.length < max) {
      await context.yieldToEventLoop();
      const { logits } = await context.measure(() => text.feed([tokens.at(-1) ?? startToken]));
      const { id, logprob } = chooseToken(logits, temperature, random);
      logprobs += logprob;
      if (id === endToken) break;
      tokens.push(id);
      if (tokens.length % loopCheckEvery === 0 && loopedTokens(tokens) > 0) break;
    }
    const looped = loopedTokens(tokens);
    const kept = looped === 0 ? tokens : tokens.slice(0, -looped);
    return { tokens: kept, avgLogprob: logprobs / (tokens.length + 1) };
  }
}

/** The window was cut while somebody spoke: its last word may be half of one. The next window hears it again. */
function withoutLastWord(text: string): string {
  return text.split(/\s+/).slice(0, -1).join(' ');
}
