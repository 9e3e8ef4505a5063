import { describe, expect, it } from 'vitest';
import { float16Bits, float16ToFloat32 } from './float16.js';

describe('float16', () => {
  it('converts the requested part of a row', () => {
    const target = new Float32Array(2);
    float16ToFloat32(Uint16Array.of(0, 0x3c00, 0xc000), target, 1);
    expect([...target]).toEqual([1, -2]);
  });

  it('reads the bits of any 16-bit view', () => {
    const bits = Uint16Array.of(7, 8, 9, 10);
    const view = new DataView(bits.buffer, 2, 4);
    expect([...float16Bits({ type: 'float16', dims: [2], data: view })]).toEqual([8, 9]);
    expect(() => float16Bits({ type: 'float16', dims: [1], data: [1] })).toThrow(TypeError);
  });
});
