import type { WavLayout } from './wav-header.js';

/** Converts samples in [-1, 1] to interleaved 16-bit little-endian PCM; values outside are clipped. */
export function toPcm16(samples: Float32Array): Buffer {
  const bytes = Buffer.allocUnsafe(samples.length * 2);
  for (let index = 0; index < samples.length; index += 1) {
    const sample = Math.max(-1, Math.min(1, samples[index] ?? 0));
    bytes.writeInt16LE(Math.round(sample * 32_767), index * 2);
  }
  return bytes;
}

/** Reads interleaved PCM as interleaved samples. `bytes` contains whole frames. */
export function fromPcm(bytes: Buffer, layout: WavLayout): Float32Array {
  const sampleBytes = layout.bitsPerSample / 8;
  const read = readerOf(bytes, layout);
  const samples = new Float32Array(Math.floor(bytes.length / sampleBytes));
  for (let index = 0; index < samples.length; index += 1) samples[index] = read(index * sampleBytes);
  return samples;
}

function readerOf(bytes: Buffer, { encoding, bitsPerSample }: WavLayout): (offset: number) => number {
  if (encoding === 'float') {
    const read = bitsPerSample === 64 ? bytes.readDoubleLE.bind(bytes) : bytes.readFloatLE.bind(bytes);
    return (offset) => {
      const value = read(offset);
      return Number.isFinite(value) ? value : 0;
    };
  }
  if (bitsPerSample === 8) return (offset) => ((bytes[offset] ?? 128) - 128) / 128;
  const scale = 2 ** (bitsPerSample - 1);
  const width = bitsPerSample / 8;
  return (offset) => bytes.readIntLE(offset, width) / scale;
}
