import { describe, expect, it } from 'vitest';
import { MediaTools } from '../tools/media-tools.js';
import { decodeWholeAudio, probeAudio } from './decode-audio.js';
import { encodeAudio, encodeWholeAudio } from './encode-audio.js';
import { writeWavHeader } from './wav-header.js';

/** Without ffmpeg, because nothing here may need it. */
const tools = await MediaTools.find({ ffmpeg: '/nowhere/ffmpeg' });
const sampleRate = 16_000;
const invalid = { code: 'INVALID_AUDIO_FORMAT' };

function wav(options: {
  tag?: number;
  bits?: number;
  channels?: number;
  rate?: number;
  data?: Buffer;
  claim?: number;
}): Buffer {
  const { tag = 1, bits = 16, channels = 1, rate = sampleRate, data = Buffer.alloc(320) } = options;
  const header = writeWavHeader({ sampleRate: rate, channels, samples: 0 });
  header.writeUInt16LE(tag, 20);
  header.writeUInt16LE(bits, 34);
  header.writeUInt32LE(options.claim ?? data.length, 40);
  return Buffer.concat([header, data]);
}

const decode = (bytes: Buffer, maxSeconds = 10) => decodeWholeAudio(tools, bytes, { sampleRate, maxSeconds });

describe('WAV', () => {
  it('needs no ffmpeg, and reports it missing where another format does', async () => {
    expect(tools.missing).toContain('apt-get install -y ffmpeg');
    const samples = Float32Array.from({ length: 4_000 }, (_, index) => Math.sin(index / 10) / 2);
    const bytes = await encodeWholeAudio(tools, samples, { format: 'wav', sampleRate });
    const decoded = await decode(bytes);
    expect(decoded).toHaveLength(4_000);
    for (const [index, sample] of decoded.entries()) expect(sample).toBeCloseTo(samples[index] ?? 0, 4);
    const unavailable = { code: 'SERVICE_UNAVAILABLE' };
    await expect(encodeWholeAudio(tools, samples, { format: 'mp3', sampleRate })).rejects.toMatchObject(unavailable);
    await expect(decode(Buffer.from('fLaC and so on'))).rejects.toMatchObject(unavailable);
  });

  it.each([
    { tag: 1, bits: 8, data: Buffer.from([0, 128, 255]), samples: [-1, 0, 127 / 128] },
    { tag: 1, bits: 16, data: Buffer.from([0x00, 0x80, 0x00, 0x40]), samples: [-1, 0.5] },
    { tag: 1, bits: 24, data: Buffer.from([0x00, 0x00, 0x80, 0x00, 0x00, 0x40]), samples: [-1, 0.5] },
    { tag: 1, bits: 32, data: Buffer.from([0x00, 0x00, 0x00, 0x80]), samples: [-1] },
    {
      tag: 3,
      bits: 32,
      data: Buffer.from(new Float32Array([0.25, -0.5, Number.NaN]).buffer),
      samples: [0.25, -0.5, 0],
    },
    { tag: 3, bits: 64, data: Buffer.from(new Float64Array([0.25]).buffer), samples: [0.25] },
    { tag: 1, bits: 16, channels: 2, data: Buffer.from([0, 0x40, 0, 0, 0, 0x20, 0, 0x20]), samples: [0.25, 0.25] },
  ])('is read with $bits bits of kind $tag', async ({ samples, ...options }) => {
    expect([...(await decode(wav(options)))]).toEqual(samples);
  });

  it('is found after unknown chunks, and in the extensible form', async () => {
    const plain = wav({ data: Buffer.from([0x00, 0x40]) });
    const list = Buffer.concat([Buffer.from('LIST\x05\0\0\0'), Buffer.from('12345\0')]);
    const behind = Buffer.concat([plain.subarray(0, 12), list, plain.subarray(12)]);
    expect([...(await decode(behind))]).toEqual([0.5]);
    const format = Buffer.concat([plain.subarray(20, 36), Buffer.alloc(24)]);
    format.writeUInt16LE(0xfffe, 0);
    format.writeUInt16LE(1, 24);
    const extended = Buffer.concat([plain.subarray(0, 12), Buffer.from('fmt \x28\0\0\0'), format, plain.subarray(36)]);
    expect([...(await decode(extended))]).toEqual([0.5]);
  });

  it('is resampled', async () => {
    expect(await decode(wav({ rate: 48_000, data: Buffer.alloc(96_000) }))).toHaveLength(16_000);
  });

  it.each([0, 0x3fffffff, 1_000_000_000, 2_000_000_000, 0x7ffff000, 0x7fffffff, 0x80000000, 0xffffffff])(
    'written to a pipe is as long as its data, whatever it states: %i',
    async (claim) => {
      const piped = wav({ claim, data: Buffer.alloc(sampleRate * 2) });
      expect(await probeAudio(tools, piped, { maxSeconds: 600 })).toMatchObject({ durationSeconds: 1 });
      expect(await decode(piped)).toHaveLength(sampleRate);
    },
  );

  it('that is truncated is as long as its data', async () => {
    const cut = wav({ claim: sampleRate * 2 * 60, data: Buffer.alloc(sampleRate * 2) });
    expect(await probeAudio(tools, cut, { maxSeconds: 600 })).toMatchObject({ durationSeconds: 1 });
    expect(await decode(cut, 600)).toHaveLength(sampleRate);
    // A job reads no more than it was charged for: the data present, plus a small margin.
    expect(await decode(cut, 3)).toHaveLength(sampleRate);
  });

  it('is found behind tags', async () => {
    const tag = Buffer.concat([Buffer.from('ID3\x04\0\0\0\0\x02\0', 'latin1'), Buffer.alloc(256)]);
    const plain = wav({ data: Buffer.from([0x00, 0x40]) });
    expect([...(await decode(Buffer.concat([tag, plain])))]).toEqual([0.5]);
    expect([...(await decode(Buffer.concat([tag, tag, plain])))]).toEqual([0.5]);
  });

  it('ends where its header says if more follows', async () => {
    const plain = wav({ data: Buffer.alloc(sampleRate * 2) });
    expect(await decode(Buffer.concat([plain, Buffer.alloc(sampleRate * 2)]))).toHaveLength(sampleRate);
  });

  it('is left to ffmpeg if its samples begin after the bytes we inspect', async () => {
    const plain = wav({});
    const tag = Buffer.alloc(100_000);
    const chunk = Buffer.concat([Buffer.from('id3 '), Buffer.alloc(4), tag]);
    chunk.writeUInt32LE(tag.length, 4);
    for (const position of [12, 36]) {
      const tagged = Buffer.concat([plain.subarray(0, position), chunk, plain.subarray(position)]);
      await expect(decode(tagged)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
      await expect(decode(tagged.subarray(0, 50_000))).rejects.toMatchObject(invalid);
    }
  });

  it('is rejected when it is longer than allowed', async () => {
    const piped = wav({ claim: 0xffffffff, data: Buffer.alloc(sampleRate * 4) });
    expect(await probeAudio(tools, piped, { maxSeconds: 2 })).toMatchObject({ durationSeconds: 2, channels: 1 });
    await expect(decode(piped, 1)).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
  });

  it.each([
    ['empty', Buffer.alloc(0)],
    ['text', Buffer.from('this is no sound')],
    ['only a header', wav({ data: Buffer.alloc(0) })],
    ['cut in its header', wav({}).subarray(0, 30)],
    ['without a format', Buffer.concat([wav({}).subarray(0, 12), Buffer.from('data\x04\0\0\0abcd')])],
    ['of no channels', wav({ channels: 0 })],
    ['of no rate', wav({ rate: 0 })],
  ])('is rejected: %s', async (_what, bytes) => {
    await expect(decode(bytes)).rejects.toMatchObject(invalid);
  });

  it('is written while its length is unknown', async () => {
    const parts: Buffer[] = [];
    const samples = [new Float32Array(10).fill(2), new Float32Array(10).fill(-2)];
    for await (const part of encodeAudio(tools, samples, { format: 'wav', sampleRate })) parts.push(part);
    const bytes = Buffer.concat(parts);
    expect(bytes.readUInt32LE(40)).toBe(0xffffffff);
    expect([bytes.readInt16LE(44), bytes.readInt16LE(64)]).toEqual([32_767, -32_767]);
    expect(await decode(bytes)).toHaveLength(20);
  });
});
