import type { GraphSession } from '../runtime/graph-session.js';

/** Samples per frame at 16 kHz, and samples of the previous frame that are prepended. */
export const voiceFrameSamples = 512;
const contextSamples = 64;
const stateDims = [2, 1, 128] as const;

/**
 * Computes the probability of speech per frame with Silero's voice activity graph (versions 5 and 6). Frames must be
 * processed in order: the graph has a long memory, and one started in mid-sentence takes seconds to detect speech.
 */
export class VoiceActivity {
  constructor(private readonly session: GraphSession) {}

  /** Returns one probability per started frame of 512 samples. */
  async probabilities(samples: Float32Array): Promise<Float32Array> {
    const result = new Float32Array(Math.ceil(samples.length / voiceFrameSamples));
    // The recording is padded with silence on both sides.
    const padded = new Float32Array(contextSamples + result.length * voiceFrameSamples);
    padded.set(samples, contextSamples);
    const rate = this.session.tensor('int64', BigInt64Array.of(16_000n), []);
    let state = this.session.tensor('float32', new Float32Array(256), stateDims);
    for (let frame = 0; frame < result.length; frame++) {
      const from = frame * voiceFrameSamples;
      const frameSamples = padded.subarray(from, from + contextSamples + voiceFrameSamples);
      const input = this.session.tensor('float32', frameSamples, [1, frameSamples.length]);
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
