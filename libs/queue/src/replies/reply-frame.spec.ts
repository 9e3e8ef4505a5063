import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeFrame, encodeFrame } from './reply-frame.js';

const event = { type: 'text-delta', text: 'a' };
const frame = { sender: 's', number: 3, parts: [{ requestId: 'r', stream: 'x', first: 0, events: [event] }] };

describe('decodeFrame', () => {
  it('reads what encodeFrame wrote', () => {
    expect(decodeFrame(encodeFrame(frame))).toEqual(frame);
  });

  it.each([
    '',
    '{',
    'null',
    '[]',
    '["s","1",[]]',
    '["s",-1,[]]',
    '["s",1.5,[]]',
    '["\\u0001",1,[]]',
    `["${'s'.repeat(41)}",1,[]]`,
    '["s",1,[null]]',
    '["s",1,[["r","x","0",[]]]]',
    '["s",1,[["r","x",0,[null]]]]',
    '["s",1,[["r","x",0,[{"type":1}]]]]',
  ])('returns null for %s', (text) => {
    expect(decodeFrame(text)).toBeNull();
  });

  it('throws for no text', () => {
    fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (text) => void decodeFrame(text)));
  });
});
