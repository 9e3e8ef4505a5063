export interface WavOptions {
  /** Samples per second; default: 16,000. */
  rate?: number;
  /** Default: 16. */
  bits?: 8 | 16;
  /** Every channel gets the same samples; default: 1. */
  channels?: number;
  /** False length for the header, in seconds. */
  claimedSeconds?: number;
}

/** Encodes samples in [-1, 1] as a WAV file. */
export function wavFile(samples: Float32Array, options: WavOptions = {}): Buffer {
  const { rate = 16_000, bits = 16, channels = 1, claimedSeconds } = options;
  const frameBytes = channels * (bits / 8);
  const data = Buffer.alloc(samples.length * frameBytes);
  for (const [index, sample] of samples.entries()) {
    for (let channel = 0; channel < channels; channel++) {
      if (bits === 8) data[index * frameBytes + channel] = Math.round(128 + 127 * sample);
      else data.writeInt16LE(Math.round(32_767 * sample), index * frameBytes + channel * 2);
    }
  }
  const claimed = claimedSeconds === undefined ? data.length : claimedSeconds * rate * frameBytes;
  const header = Buffer.alloc(44);
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(Math.min(0xffffffff, 36 + claimed), 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(channels, 22);
  header.writeUInt32LE(rate, 24);
  header.writeUInt32LE(rate * frameBytes, 28);
  header.writeUInt16LE(frameBytes, 32);
  header.writeUInt16LE(bits, 34);
  header.write('data', 36, 'latin1');
  header.writeUInt32LE(Math.min(0xffffffff, claimed), 40);
  return Buffer.concat([header, data]);
}

/** Samples of a 16-bit mono file without chunks after its data. */
export function wavSamples(file: Buffer): Float32Array {
  const data = file.indexOf('data', 12, 'latin1') + 8;
  const length = (file.length - data) >> 1;
  return Float32Array.from({ length }, (_, index) => file.readInt16LE(data + 2 * index) / 32_768);
}

/** A quiet tone of 300 Hz. */
export function tone(seconds: number, rate = 16_000): Float32Array {
  return Float32Array.from(
    { length: Math.round(seconds * rate) },
    (_, index) => 0.3 * Math.sin((2 * Math.PI * 300 * index) / rate),
  );
}
