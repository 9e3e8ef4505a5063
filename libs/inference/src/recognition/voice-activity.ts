import type { GraphSession } from '../runtime/graph-session.js';

/** Samples of one frame at 16 kHz, and how many of the frame before it are looked at again. */
export const voiceFrameSamples = 512;
const contextSamples = 64;
const stateDims = [2, 1, 128] as const;

/**
 * How likely somebody speaks, frame by frame: Silero's voice activity graph (versions 5 and 6). Its memory is long: one
 * that began in the middle of a sentence would take seconds to hear it, so frames are heard one after another.
 */
export class VoiceActivity {
  constructor(private readonly session: GraphSession) {}

  /** One probability per started frame of 512 samples. */
  async probabilities(samples: Float32Array): Promise<Float32Array> {
    const result = new Float32Array(Math.ceil(samples.length / voiceFrameSamples));
    // Silence before the recording and behind it.
    const padded = new Float32Array(contextSamples + result.length * voiceFrameSamples);
    padded.set(samples, contextSamples);
    const rate = this.session.tensor('int64', BigInt64Array.of(16_000n), []);
    let state = this.session.tensor('float32', new Float32Array(256), stateDims);
    for (let frame = 0; frame < result.length; frame++) {
      const from = frame * voiceFrameSamples;
      const heard = padded.subarray(from, from + contextSamples + voiceFrameSamples);
      const input = this.session.tensor('float32', heard, [1, heard.length]);
      const { output, stateN } = await this.session.run({ input, state, sr: rate }, ['output', 'stateN']);
      if (stateN !== undefined) state = stateN;
      result[frame] = (output?.data as Float32Array | undefined)?.[0] ?? 0;
    }
    return result;
  }

  release(): Promise<void> {
    return this.session.release();
  }
}
