import { describe, expect, it } from 'vitest';
import { withAudioLength } from './audio-header.js';

describe('withAudioLength', () => {
  it('writes both sizes of a WAV file', () => {
    const head = Buffer.alloc(60, 0xff);
    const whole = withAudioLength(head, { format: 'wav', bytes: 1_044, samples: 500 });
    expect([whole.readUInt32LE(4), whole.readUInt32LE(40)]).toEqual([1_036, 1_000]);
    expect(head.readUInt32LE(4)).toBe(0xffffffff);
    const endless = withAudioLength(head, { format: 'wav', bytes: 5e9, samples: 2.5e9 });
    expect(endless.readUInt32LE(40)).toBe(0xffffffff);
  });

  it('writes the sample count of a FLAC file and leaves adjacent fields unchanged', () => {
    const head = Buffer.alloc(42);
    head.write('fLaC', 'latin1');
    // 24 kHz, one channel, 16 bits.
    head.writeBigUInt64BE((24_000n << 44n) | (0n << 41n) | (15n << 36n), 18);
    const count = withAudioLength(head, { format: 'flac', bytes: 0, samples: 123_456 }).readBigUInt64BE(18);
    expect([count >> 44n, (count >> 36n) & 31n, count & 0xfffffffffn]).toEqual([24_000n, 15n, 123_456n]);
  });

  it('leaves other formats and truncated headers unchanged', () => {
    const head = Buffer.from('short');
    for (const format of ['mp3', 'wav', 'flac', 'pcm'] as const) {
      expect(withAudioLength(head, { format, bytes: 9, samples: 9 })).toBe(head);
    }
  });
});
