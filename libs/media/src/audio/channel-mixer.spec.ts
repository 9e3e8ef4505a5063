import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ChannelMixer } from './channel-mixer.js';

const sampleRate = 8_000;
const seconds = 2;

function tone(hz: number): Float32Array {
  return Float32Array.from({ length: seconds * sampleRate }, (_, index) =>
    Math.fround(0.5 * Math.sin((2 * Math.PI * hz * index) / sampleRate)),
  );
}

function interleaved(...channels: Float32Array[]): Float32Array {
  const length = channels[0]?.length ?? 0;
  return Float32Array.from(
    { length: length * channels.length },
    (_, index) => channels[index % channels.length]?.[Math.floor(index / channels.length)] ?? 0,
  );
}

function mixed(frames: Float32Array, channels: number, partFrames = frames.length): Float32Array {
  const mixer = new ChannelMixer({ channels, sampleRate });
  const parts: number[] = [];
  for (let start = 0; start < frames.length; start += partFrames * channels) {
    parts.push(...mixer.push(frames.subarray(start, start + partFrames * channels)));
  }
  return Float32Array.from([...parts, ...mixer.flush()]);
}

function levelOf(samples: Float32Array): number {
  return Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length);
}

function maxStep(samples: Float32Array): number {
  return samples.reduce((max, sample, index) => Math.max(max, Math.abs(sample - (samples[index - 1] ?? sample))), 0);
}

function maxDifference(one: Float32Array, other: Float32Array): number {
  return one.reduce((max, sample, index) => Math.max(max, Math.abs(sample - (other[index] ?? 0))), 0);
}

const voice = tone(300);
const silence = voice.map(() => 0);

describe('ChannelMixer', () => {
  it('returns one channel as it is', () => {
    expect(mixed(voice, 1)).toEqual(voice);
  });

  it.each([
    ['the same', voice, voice],
    ['one side only', voice.map((sample) => 2 * sample), silence],
    ['two voices', voice, tone(470)],
  ])('takes the mean of channels that do not cancel: %s', (_what, left, right) => {
    const mean = left.map((sample, index) => (sample + (right[index] ?? 0)) / 2);
    expect(mixed(interleaved(left, right), 2)).toEqual(mean);
  });

  it.each([-1, -0.95, -0.8, -1 / 0.9])('takes the loudest channel where phases are opposite: %d', (factor) => {
    const other = voice.map((sample) => factor * sample);
    const loudest = Math.abs(factor) > 1 ? other : voice;
    expect(maxDifference(mixed(interleaved(voice, other), 2), loudest)).toBe(0);
  });

  it('hears a voice of opposite phases over a hum of equal phases', () => {
    const hum = tone(50).map((sample) => sample / 10);
    const left = voice.map((sample, index) => sample + (hum[index] ?? 0));
    const right = voice.map((sample, index) => (hum[index] ?? 0) - 0.99 * sample);
    expect(maxDifference(mixed(interleaved(left, right), 2), left)).toBe(0);
  });

  it.each([3, 4, 6, 8])('does so in two of %i channels', (channels) => {
    const others = Array.from({ length: channels - 2 }, () => silence);
    const frames = interleaved(
      ...others,
      voice,
      voice.map((sample) => -sample),
    );
    expect(levelOf(mixed(frames, channels))).toBeCloseTo(levelOf(voice), 5);
  });

  it('changes between mixtures without a click, in a recording of which a part has opposite phases', () => {
    const turned = voice.map((sample, index) => (index >= sampleRate ? -sample : sample));
    const result = mixed(interleaved(voice, turned), 2);
    expect(maxStep(result)).toBeLessThan(1.2 * maxStep(voice));
    expect(levelOf(result)).toBeGreaterThan(0.98 * levelOf(voice));
    const swapped = mixed(
      interleaved(
        voice,
        turned.map((sample) => 0.5 * sample),
      ),
      2,
    );
    expect(maxStep(swapped)).toBeLessThan(2 * maxStep(voice));
    expect(levelOf(swapped)).toBeGreaterThan(0.7 * levelOf(voice));
  });

  it('stays with a channel while another of the opposite phase is about as loud', () => {
    const wavering = voice.map((sample, index) => sample * (1 + 0.1 * Math.sin(index / 900)));
    const frames = interleaved(
      voice,
      wavering.map((sample) => -sample),
    );
    expect(maxStep(mixed(frames, 2))).toBeLessThan(1.2 * maxStep(wavering));
  });

  it('returns the same for any size of parts', () => {
    const frames = interleaved(
      voice,
      voice.map((sample, index) => (index % 5_000 < 2_500 ? -sample : sample)),
    );
    const whole = mixed(frames, 2);
    expect(whole).toHaveLength(voice.length);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9_000 }), (partFrames) => {
        expect(mixed(frames, 2, partFrames)).toEqual(whole);
      }),
      { numRuns: 10 },
    );
  });
});
