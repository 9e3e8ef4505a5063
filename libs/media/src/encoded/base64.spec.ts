import { describe, expect, it } from 'vitest';
import { decodeBase64, decodeDataUrl, decodeInline, isDataUrl } from './base64.js';

const limits = { maxBytes: 100, param: 'image' };
const refused = expect.objectContaining({ code: 'INVALID_REQUEST', param: 'image' }) as Error;
const large = expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE', param: 'image' }) as Error;

describe('base64', () => {
  it.each([
    ['aGVsbG8=', 'hello'],
    ['aGVsbG8', 'hello'],
    ['aGVs\r\nbG8=\r\n', 'hello'],
    [' aGV sbG8=\t', 'hello'],
    ['_-8=', '\u00ff\u00ef'],
    ['/+8=', '\u00ff\u00ef'],
  ])('reads %j', (text, expected) => {
    expect(decodeBase64(text, limits).toString('latin1')).toBe(expected);
  });

  it.each(['', ' \n', '=', 'a', 'aGVsb', 'aGVsbG8=x', 'aGV$bG8=', 'aGVsbG8===', 'grüße', 'aGVs=bG8=', '<svg/>'])(
    'refuses %j',
    (text) => {
      expect(() => decodeBase64(text, limits)).toThrow(refused);
    },
  );

  it('may be empty if the caller allows it', () => {
    for (const text of ['', ' \n', 'data:image/png;base64,']) {
      expect(decodeInline(text, { ...limits, mayBeEmpty: true }).bytes).toHaveLength(0);
    }
  });

  it('is limited by its decoded size', () => {
    const text = (bytes: number) => Buffer.alloc(bytes).toString('base64');
    expect(decodeBase64(text(100), limits)).toHaveLength(100);
    expect(() => decodeBase64(text(101), limits)).toThrow(large);
    const broken = text(100).replaceAll(/(.{4})/g, '$1\n');
    expect(decodeBase64(broken, limits)).toHaveLength(100);
  });

  it('is rejected by its length alone when it is huge', () => {
    const huge = 'A'.repeat(200_000_000);
    const before = process.memoryUsage().rss;
    expect(() => decodeBase64(huge, { maxBytes: 25_000_000, param: 'image' })).toThrow(large);
    expect(process.memoryUsage().rss - before).toBeLessThan(64_000_000);
  });
});

describe('data URLs', () => {
  it.each([
    ['data:image/png;base64,aGVsbG8=', 'image/png'],
    ['DATA:image/PNG;charset=utf-8;BASE64,aGVsbG8', 'image/png'],
    ['data:;base64,aGVsbG8=', ''],
    ['data:audio/wav;codecs="1";base64,aGVs\nbG8=', 'audio/wav'],
    ['data:image/png;base64,aGVsbG8%3D', 'image/png'],
    ['data:image/png;base64,%61GV%73bG8%3d%0D%0A', 'image/png'],
    ['data:video/webm;codecs=vp8,opus;base64,aGVsbG8=', 'video/webm'],
  ])('are decoded: %s', (url, contentType) => {
    expect(isDataUrl(url)).toBe(true);
    expect(decodeDataUrl(url, limits)).toEqual({ contentType, bytes: Buffer.from('hello') });
  });

  it.each([
    'data:',
    'data:image/png',
    'data:image/png,hello',
    'data:image/png;base64',
    'data:;base64,',
    'data:;base64,*',
    'data:;base64,aGVsbG8%3',
    'data:;base64,aGVsbG8%',
    'data:;base64,aGVsbG8%zz',
    'data:;base64,aGVs%24bG8',
    'data:text/plain,codecs=a;base64,aGVsbG8=',
  ])('are rejected: %s', (url) => {
    expect(() => decodeDataUrl(url, limits)).toThrow(refused);
  });

  it('and bare base64 are decoded by one function', () => {
    expect(decodeInline('aGVsbG8=', limits)).toEqual({ contentType: '', bytes: Buffer.from('hello') });
    expect(decodeInline('data:a/b;base64,aGVsbG8=', limits).contentType).toBe('a/b');
    expect(() => decodeInline('https://example.org/a.png', limits)).toThrow(refused);
  });

  it('are limited by their decoded size, percent-encoded or not', () => {
    const url = (bytes: number) => {
      const text = Buffer.alloc(bytes, 0xff).toString('base64');
      return `data:;base64,${text.replaceAll(/./g, (character) => `%${character.charCodeAt(0).toString(16)}`)}`;
    };
    expect(decodeDataUrl(url(100), limits).bytes).toHaveLength(100);
    expect(() => decodeDataUrl(url(101), limits)).toThrow(large);
    expect(() => decodeDataUrl(`data:;base64,%41${'A'.repeat(10_000)}`, limits)).toThrow(large);
  });

  it('are parsed in linear time without an end of the header', () => {
    expect(() => decodeDataUrl(`data:${';a'.repeat(1_000_000)}`, limits)).toThrow(refused);
  });
});
