import { PlatformError } from '#common';
import type { ComposeInput, ComposeOutput } from '../../engines/music.js';
import type { TaskContext } from '../../engines/queued-task.engine.js';
import { floatsOf } from '../../runtime/float-tensor.js';
import type { GraphSession } from '../../runtime/graph-session.js';
import type { CodeWriter } from './code-writer.js';
import type { MusicgenConfig } from './musicgen.config.js';

/** Share of the progress for generating codes; the rest is for the codec. */
const writingShare = 0.95;
/** Steps between two progress reports: half a second of audio. */
const reportEvery = 25;

/** Generates codes from a prompt, and audio from the codes (EnCodec, https://arxiv.org/abs/2210.13438). */
export class MusicgenGenerator {
  constructor(private readonly dependencies: { config: MusicgenConfig; writer: CodeWriter; codec: GraphSession }) {}

  /** Throws `INVALID_REQUEST` for a length that the model does not support. */
  async compose({ prompt, seconds, seed }: ComposeInput, context: TaskContext): Promise<ComposeOutput> {
    const { config, writer } = this.dependencies;
    if (!(seconds > 0 && seconds <= config.maxSeconds)) {
      const message = `duration_seconds may be up to ${config.maxSeconds} with this model.`;
      throw new PlatformError('INVALID_REQUEST', message, 'duration_seconds');
    }
    const frames = Math.ceil(seconds * config.framesPerSecond);
    const onStep = (done: number, all: number): void => {
      if (done % reportEvery === 0 || done === all) context.progress((done / all) * writingShare);
    };
    const codes = await writer.write({ prompt, frames, seed }, { context, onStep });
    await context.yieldToEventLoop();
    const samples = await context.measure(() => this.decode(codes, frames));
    const length = Math.min(samples.length, Math.round(seconds * config.sampleRate));
    return { samples: samples.slice(0, length), sampleRate: config.sampleRate };
  }

  /** Decodes the whole clip at once, because the codec carries state from frame to frame. */
  async decode(codes: Int32Array, frames: number): Promise<Float32Array> {
    const { codec, config } = this.dependencies;
    const dims = [1, 1, config.codebooks, frames];
    const audio_codes = codec.tensor('int64', BigInt64Array.from(codes, BigInt), dims);
    const { audio_values } = await codec.run({ audio_codes }, ['audio_values']);
    const samples = floatsOf(audio_values);
    if (!samples.every((sample) => Number.isFinite(sample))) {
      throw new PlatformError('INFERENCE_FAILED', 'The model returned numbers that are not audio.');
    }
    return samples.map((sample) => Math.max(-1, Math.min(1, sample)));
  }
}
