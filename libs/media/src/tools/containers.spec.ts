import { describe, expect, it } from 'vitest';
import { findContainer, sniffContainer } from './containers.js';
import { readFrameHeader } from './frame-headers.js';

/** 128 kbit/s at 44.1 kHz: frames of 417 bytes. */
const mp3Frame = Buffer.concat([Buffer.from([0xff, 0xfb, 0x90, 0x00]), Buffer.alloc(413, 0x55)]);
const mp3 = Buffer.concat([mp3Frame, mp3Frame, mp3Frame]);
const adtsFrame = Buffer.concat([Buffer.from([0xff, 0xf1, 0x50, 0x80, 0x0c, 0x9f, 0xfc]), Buffer.alloc(93, 0x55)]);
const adts = Buffer.concat([adtsFrame, adtsFrame]);

function id3(stated: number, actual = stated): Buffer {
  const size = [21, 14, 7, 0].map((bits) => (stated >> bits) & 0x7f);
  return Buffer.concat([Buffer.from('ID3\x04\0\0', 'latin1'), Buffer.from(size), Buffer.alloc(actual)]);
}

function ape(bytes: number): Buffer {
  const header = Buffer.alloc(32);
  header.write('APETAGEX', 0, 'latin1');
  header.writeUInt32LE(bytes, 12);
  return Buffer.concat([header, Buffer.alloc(bytes)]);
}

describe('readFrameHeader', () => {
  it.each([
    ['MPEG 1 layer III', [0xff, 0xfb, 0x90, 0x00], 417, 1_152 / 44_100],
    ['the same, padded', [0xff, 0xfb, 0x92, 0x00], 418, 1_152 / 44_100],
    ['MPEG 2 layer III', [0xff, 0xf3, 0x40, 0x00], 104, 576 / 22_050],
    ['MPEG 2.5 layer III', [0xff, 0xe3, 0x18, 0x00], 72, 576 / 8_000],
    ['MPEG 1 layer II', [0xff, 0xfd, 0x84, 0x00], 384, 1_152 / 48_000],
    ['MPEG 1 layer I', [0xff, 0xff, 0xc8, 0x00], 576, 384 / 32_000],
    ['ADTS', [0xff, 0xf1, 0x50, 0x80, 0x0c, 0x9f, 0xfc], 100, 1_024 / 44_100],
  ])('reads %s', (_what, bytes, length, seconds) => {
    const header = readFrameHeader(Buffer.from(bytes), 0);
    expect(header?.bytes).toBe(length);
    expect(header?.seconds).toBeCloseTo(seconds, 12);
  });

  it.each([
    [[0xff, 0xeb, 0x90, 0x00]],
    [[0xff, 0xf9, 0xf0, 0x00]],
    [[0xff, 0xfb, 0x00, 0x00]],
    [[0xff, 0xfb, 0x9c, 0x00]],
    [[0xff, 0xfb, 0x90]],
    [[0xff, 0xf1, 0x7c, 0x80, 0x0c, 0x9f, 0xfc]],
    [[0xff, 0xf1, 0x50, 0x80, 0x00, 0x9f, 0xfc]],
  ])('reads nothing from %j', (bytes) => {
    expect(readFrameHeader(Buffer.from(bytes), 0)).toBeNull();
  });
});

describe('sniffContainer', () => {
  const flac = Buffer.from('fLaC\0\0\0\x22');
  const wav = Buffer.from('RIFF\0\0\0\0WAVEfmt ');

  it.each([
    ['mp3', 'its first frame', mp3],
    ['mp3', 'a tag', Buffer.concat([id3(300), mp3])],
    ['mp3', 'two tags', Buffer.concat([id3(300), id3(40), mp3])],
    ['mp3', 'a tag that states too little', Buffer.concat([id3(300, 400), mp3])],
    ['mp3', 'a byte of padding', Buffer.concat([id3(300), Buffer.alloc(1), mp3])],
    ['mp3', 'zeros', Buffer.concat([Buffer.alloc(2_000), mp3])],
    ['mp3', 'a line end', Buffer.concat([Buffer.from('\r\n'), mp3])],
    ['mp3', 'an APE tag', Buffer.concat([ape(100), mp3])],
    ['mp3', 'tags of both kinds', Buffer.concat([ape(100), id3(9), mp3])],
    ['mp3', 'the rest of a frame', mp3.subarray(100)],
    ['mp3', 'a tag longer than what was read', id3(300_000, 50)],
    ['aac', 'a tag and zeros', Buffer.concat([id3(30), Buffer.alloc(7), adts])],
    ['flac', 'a tag', Buffer.concat([id3(30), flac])],
    ['wav', 'two tags', Buffer.concat([id3(30), id3(30), wav])],
  ])('detects %s behind %s', (container, _what, bytes) => {
    expect(sniffContainer(bytes)).toBe(container);
  });

  it('takes no other file for frames', () => {
    // Bytes of a JPEG, and a single frame header in a text.
    const jpeg = Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 16]), Buffer.alloc(3_000, 0xff)]);
    const text = Buffer.concat([Buffer.from('a text '.repeat(50)), mp3Frame, Buffer.from(' and more'.repeat(100))]);
    for (const bytes of [jpeg, text, Buffer.alloc(70_000), Buffer.from('{"a":1}')]) {
      expect(sniffContainer(bytes)).toBeNull();
    }
  });

  it('searches 64 kB, in linear time', () => {
    expect(sniffContainer(Buffer.concat([Buffer.alloc(60_000), mp3]))).toBe('mp3');
    expect(sniffContainer(Buffer.concat([Buffer.alloc(66_000), mp3]))).toBeNull();
    expect(findContainer(Buffer.concat([Buffer.alloc(1), Buffer.alloc(5_000_000, 0xff)]))).toBeNull();
    expect(sniffContainer(Buffer.concat(Array.from({ length: 1_000 }, () => id3(0))))).toBeNull();
  });
});
