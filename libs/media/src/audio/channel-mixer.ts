/** Decisions per second, about; at high rates a block is shorter, so that little is held. */
const blocksPerSecond = 4;
const maxBlockFrames = 16_384;
/** Length of a change between two mixtures, in seconds; an abrupt one would click. */
const rampSeconds = 0.01;
/** Share of the energy of channels that do not cancel, below which their mean proves that they do. */
const cancelled = 0.75;

/**
 * Mixes interleaved channels down to one, part by part: their mean, except where they cancel each other. Recordings
 * of one balanced input on two channels have opposite phases, and their mean is silence; there the loudest channel is
 * taken.
 *
 * The decision is made per block of a quarter of a second, so a stream needs no pass over the whole, and a recording
 * with another one joined to it is right in both parts. The mean of n channels that do not cancel has at least 1/n² of
 * the energy of the loudest: as much if all others are silent, more if they are not.
 */
export class ChannelMixer {
  private readonly blockSamples: number;
  private readonly rampFrames: number;
  private readonly mean: readonly number[];
  /** Weights of the channels at the end of the last block; null before the first. */
  private weights: readonly number[] | null = null;
  private held = new Float32Array(0);

  constructor(private readonly form: { channels: number; sampleRate: number }) {
    const { channels, sampleRate } = form;
    const frames = Math.min(maxBlockFrames, Math.ceil(sampleRate / blocksPerSecond));
    this.blockSamples = frames * channels;
    this.rampFrames = Math.min(frames, Math.ceil(sampleRate * rampSeconds));
    this.mean = Array.from({ length: channels }, () => 1 / channels);
  }

  /** Takes whole frames, in which the samples of all channels follow each other, and returns the mixed blocks. */
  push(frames: Float32Array): Float32Array {
    if (this.form.channels === 1) return frames;
    const samples = joined(this.held, frames);
    const whole = samples.length - (samples.length % this.blockSamples);
    this.held = samples.slice(whole);
    return this.mixBlocks(samples.subarray(0, whole));
  }

  /** Returns the rest, shorter than a block. */
  flush(): Float32Array {
    const rest = this.held;
    this.held = new Float32Array(0);
    return this.mixBlocks(rest);
  }

  private mixBlocks(samples: Float32Array): Float32Array {
    const mixed = new Float32Array(samples.length / this.form.channels);
    for (let start = 0; start < samples.length; start += this.blockSamples) {
      const block = samples.subarray(start, start + this.blockSamples);
      const next = this.weightsFor(block);
      mixed.set(mix(block, { from: this.weights ?? next, to: next, rampFrames: this.rampFrames }), start / next.length);
      this.weights = next;
    }
    return mixed;
  }

  private weightsFor(block: Float32Array): readonly number[] {
    const { channels } = this.form;
    const { energies, meanEnergy } = energiesOf(block, channels);
    const loudest = Math.max(...energies);
    if (meanEnergy >= (cancelled * loudest) / channels ** 2) return this.mean;
    // A channel that is about as loud stays: a change to one of the opposite phase would be heard.
    const current = this.weights === null || this.weights === this.mean ? -1 : this.weights.indexOf(1);
    const taken = (energies[current] ?? 0) >= loudest / 2 ? current : energies.indexOf(loudest);
    if (taken === current && this.weights !== null) return this.weights;
    return energies.map((_, channel) => (channel === taken ? 1 : 0));
  }
}

function energiesOf(block: Float32Array, channels: number): { energies: number[]; meanEnergy: number } {
  const energies = Array.from({ length: channels }, () => 0);
  let meanEnergy = 0;
  for (let start = 0; start < block.length; start += channels) {
    let sum = 0;
    for (let channel = 0; channel < channels; channel += 1) {
      const sample = block[start + channel] ?? 0;
      energies[channel] = (energies[channel] ?? 0) + sample * sample;
      sum += sample;
    }
    meanEnergy += (sum / channels) ** 2;
  }
  return { energies, meanEnergy };
}

function mix(
  block: Float32Array,
  { from, to, rampFrames }: { from: readonly number[]; to: readonly number[]; rampFrames: number },
): Float32Array {
  const channels = to.length;
  const mixed = new Float32Array(block.length / channels);
  for (let frame = 0; frame < mixed.length; frame += 1) {
    const done = from === to ? 1 : Math.min(1, (frame + 1) / rampFrames);
    let sum = 0;
    for (let channel = 0; channel < channels; channel += 1) {
      const before = from[channel] ?? 0;
      const after = to[channel] ?? 0;
      sum += (block[frame * channels + channel] ?? 0) * (before + (after - before) * done);
    }
    mixed[frame] = sum;
  }
  return mixed;
}

function joined(first: Float32Array, second: Float32Array): Float32Array {
  if (first.length === 0) return second;
  const both = new Float32Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}
