import { beforeAll, describe, expect, it } from 'vitest';
import { type AudioFormat, decodeWholeAudio, encodeAudio, encodeWholeAudio, MediaTools } from '../index.js';
import { audioFormats } from './audio-format.js';

function tone(seconds: number, { sampleRate, hz }: { sampleRate: number; hz: number }): Float32Array {
  return Float32Array.from(
    { length: seconds * sampleRate },
    (_, index) => 0.5 * Math.sin((2 * Math.PI * hz * index) / sampleRate),
  );
}

/** Returns the strength of one frequency, 0.5 for our full-scale tone. */
function strengthOf(samples: Float32Array, { sampleRate, hz }: { sampleRate: number; hz: number }): number {
  let real = 0;
  let imaginary = 0;
  for (let index = 0; index < samples.length; index += 1) {
    const angle = (2 * Math.PI * hz * index) / sampleRate;
    real += (samples[index] ?? 0) * Math.cos(angle);
    imaginary += (samples[index] ?? 0) * Math.sin(angle);
  }
  return (2 * Math.hypot(real, imaginary)) / samples.length;
}

describe('audio', () => {
  let tools: MediaTools;
  beforeAll(async () => {
    tools = await MediaTools.find();
  });

  it.each(audioFormats.filter((format) => format !== 'pcm'))('survives %s', async (format: AudioFormat) => {
    const samples = tone(2, { sampleRate: 24_000, hz: 440 });
    const bytes = await encodeWholeAudio(tools, samples, { format, sampleRate: 24_000 });
    const decoded = await decodeWholeAudio(tools, bytes, { sampleRate: 16_000, maxSeconds: 10 });
    expect(decoded.length / 16_000).toBeGreaterThan(1.95);
    expect(decoded.length / 16_000).toBeLessThan(2.2);
    expect(strengthOf(decoded.subarray(1_600, 30_000), { sampleRate: 16_000, hz: 440 })).toBeCloseTo(0.5, 1);
  });

  it('is output by the encoder while input is still being written', async () => {
    const events: string[] = [];
    let more = true;
    async function* endless() {
      while (more) {
        events.push('in');
        yield tone(1, { sampleRate: 24_000, hz: 300 });
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    }
    for await (const part of encodeAudio(tools, endless(), { format: 'mp3', sampleRate: 24_000 })) {
      events.push(`out`);
      expect(part.length).toBeGreaterThan(0);
      more = false;
    }
    expect(events.indexOf('out')).toBeGreaterThan(0);
  });
});
