import { type AvEncoder, type AvOutput, type EncoderChoice } from './av-output.js';
import { audioForm, FilterChain } from './filter-chain.js';
import { AvError, type Frame, type NativeAv } from './native-av.js';

/** Filters audio. Where its form changes midway, a new chain takes over. Times become those of samples. */
export function* resampled(
  av: NativeAv,
  { frames, timeBase }: { frames: Iterable<Frame>; timeBase: { num: number; den: number } },
  filters: readonly string[],
): Generator<Frame, void, undefined> {
  let chain: FilterChain | null = null;
  let form = '';
  for (const frame of frames) {
    const next = audioForm(av, frame, timeBase);
    if (chain === null || next !== form) {
      if (chain !== null) yield* chain.push(null);
      chain?.free();
      chain = FilterChain.forAudio(av, frame, timeBase, [...filters, 'asettb=tb=1/sr']);
      form = next;
    }
    yield* chain.push(frame);
  }
  if (chain !== null) yield* chain.push(null);
}

/** Returns the filter that makes samples what an encoder takes. */
export function formatFilter(
  av: NativeAv,
  {
    encoder,
    sampleFormat,
    layouts,
    sampleRate,
  }: {
    encoder: string;
    sampleFormat: string;
    layouts: readonly string[];
    /** Null: that of the source, or the nearest that the encoder takes. */
    sampleRate: number | null;
  },
): string {
  const rates = sampleRate === null ? (av.Codec.findEncoderByName(encoder)?.supportedSamplerates ?? []) : [sampleRate];
  return [
    `aformat=sample_fmts=${sampleFormat}`,
    `channel_layouts=${layouts.join('|')}`,
    ...(rates.length > 0 ? [`sample_rates=${rates.join('|')}`] : []),
  ].join(':');
}

/** Encodes samples in the portions that an encoder takes. */
export class AudioTrack {
  private readonly encoder: AvEncoder;
  private readonly portions: FilterChain;
  private readonly sampleRate: number;
  /** Portions that the encoder has not got yet. */
  private readonly waiting: Frame[] = [];
  /** End of what was given to this track, in samples. */
  private end = 0;

  /** `frame` is the first one; it is not encoded yet. */
  constructor(av: NativeAv, output: AvOutput, choice: EncoderChoice, frame: Frame) {
    this.sampleRate = frame.sampleRate;
    this.encoder = output.addAudio(choice, frame);
    const { frameSize } = this.encoder;
    const filters = frameSize > 0 ? [`asetnsamples=n=${frameSize}:p=0`] : [];
    this.portions = FilterChain.forAudio(av, frame, { num: 1, den: this.sampleRate }, filters);
  }

  get endSeconds(): number {
    return this.end / this.sampleRate;
  }

  write(frame: Frame): void {
    this.take(this.portions.push(frame));
  }

  /** Encodes what was written and ends by a time. */
  encode(maxSeconds = Number.POSITIVE_INFINITY): void {
    const max = maxSeconds * this.sampleRate;
    for (;;) {
      const [portion] = this.waiting;
      if (portion === undefined || Number(portion.pts) + portion.nbSamples > max) return;
      this.encodeFirst();
    }
  }

  /** Encodes the rest, up to a time. */
  finish(maxSeconds = Number.POSITIVE_INFINITY): void {
    this.take(this.portions.push(null));
    this.encode(maxSeconds);
    const [portion] = this.waiting;
    const left = portion === undefined ? 0 : Math.ceil(maxSeconds * this.sampleRate) - Number(portion.pts);
    if (portion !== undefined && left > 0) {
      portion.nbSamples = left;
      this.encodeFirst();
    }
    this.encoder.encode(null);
  }

  private take(portions: Iterable<Frame>): void {
    for (const portion of portions) {
      const kept = portion.clone();
      if (kept === null) throw new AvError('out of memory');
      this.waiting.push(kept);
      this.end = Number(kept.pts) + kept.nbSamples;
    }
  }

  private encodeFirst(): void {
    const portion = this.waiting.shift();
    if (portion === undefined) return;
    this.encoder.encode(portion);
    portion.free();
  }
}
