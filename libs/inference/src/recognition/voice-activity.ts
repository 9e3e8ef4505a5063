import type { GraphSession } from '../runtime/graph-session.js';

/** Samples of one frame at 16 kHz, and how many of the frame before it are looked at again. */
export const voiceFrameSamples = 512;
const contextSamples = 64;
const stateSize = 128;

/**
 * A recording is heard in this many stretches side by side: the graph is tiny, and what costs is how often it is run.
 * Each stretch listens in on the end of the one before, so that its memory is warm when it counts.
 */
const lanes = 8;
const warmUpFrames = 12;

/** How likely somebody speaks, frame by frame: Silero's voice activity graph (versions 5 and 6). */
export class VoiceActivity {
  constructor(private readonly session: GraphSession) {}

  /** One probability per started frame of 512 samples. */
  async probabilities(samples: Float32Array): Promise<Float32Array> {
    const frames = Math.ceil(samples.length / voiceFrameSamples);
    const perLane = Math.ceil(frames / lanes);
    const result = new Float32Array(frames);
    if (frames === 0) return result;
    let state: Float32Array = new Float32Array(2 * lanes * stateSize);
    const input = new Float32Array(lanes * (contextSamples + voiceFrameSamples));
    for (let step = -warmUpFrames; step < perLane; step++) {
      for (let lane = 0; lane < lanes; lane++) fillFrame(input, lane, samples, lane * perLane + step);
      const { output, stateN } = await this.run(input, state);
      state = stateN;
      // The first stretch has nothing before it: its memory stays empty until the recording begins.
      if (step < 0) clearLane(state, 0);
      else {
        for (let lane = 0; lane < lanes && lane * perLane + step < frames; lane++) {
          result[lane * perLane + step] = output[lane] ?? 0;
        }
      }
    }
    return result;
  }

  release(): Promise<void> {
    return this.session.release();
  }

  private async run(input: Float32Array, state: Float32Array): Promise<{ output: Float32Array; stateN: Float32Array }> {
    const { session } = this;
    const feeds = {
      input: session.tensor('float32', input, [lanes, contextSamples + voiceFrameSamples]),
      state: session.tensor('float32', state, [2, lanes, stateSize]),
      sr: session.tensor('int64', BigInt64Array.of(16_000n), []),
    };
    const { output, stateN } = await session.run(feeds, ['output', 'stateN']);
    return { output: output?.data as Float32Array, stateN: stateN?.data as Float32Array };
  }
}

/** A frame with the end of the one before it; silence where the recording has nothing. */
function fillFrame(input: Float32Array, lane: number, samples: Float32Array, frame: number): void {
  const width = contextSamples + voiceFrameSamples;
  const from = frame * voiceFrameSamples - contextSamples;
  const target = input.subarray(lane * width, (lane + 1) * width);
  target.fill(0);
  const first = Math.max(0, from);
  const end = Math.min(samples.length, from + width);
  if (end > first) target.set(samples.subarray(first, end), first - from);
}

function clearLane(state: Float32Array, lane: number): void {
  for (const half of [0, 1]) {
    const at = (half * lanes + lane) * stateSize;
    state.fill(0, at, at + stateSize);
  }
}
