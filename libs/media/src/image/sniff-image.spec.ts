import { describe, expect, it } from 'vitest';
import { sniffImage } from './sniff-image.js';

describe('the header of a JPEG', () => {
  const start = Buffer.from('ffd8ffe000020000', 'hex');
  const refused = expect.objectContaining({ code: 'CORRUPTED_IMAGE' }) as Error;

  it.each([
    ['nothing else', Buffer.alloc(16)],
    ['megabytes of zeros', Buffer.alloc(25_000_000)],
    ['megabytes of fill bytes', Buffer.alloc(25_000_000, 0xff)],
    ['megabytes of stuffed bytes', Buffer.alloc(25_000_000, 'ff00', 'hex')],
    ['megabytes of restart markers', Buffer.alloc(25_000_000, 'ffd0', 'hex')],
    ['megabytes of empty segments', Buffer.alloc(25_000_000, 'ffe10000', 'hex')],
    ['an end before the frame', Buffer.from('ffd9ffc0001108001800280301220002110103110100', 'hex')],
    ['pixels before the frame', Buffer.from('ffda0002ffc0001108001800280301220002110103110100', 'hex')],
    ['another start', Buffer.from('ffd8ffc0001108001800280301220002110103110100', 'hex')],
  ])('is refused, after one pass: %s', (_, rest) => {
    expect(() => sniffImage(Buffer.concat([start, rest]))).toThrow(refused);
  });
});
