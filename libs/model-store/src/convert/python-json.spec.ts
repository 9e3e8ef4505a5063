import { describe, expect, it } from 'vitest';
import { parsePythonJson } from './python-json.js';

describe('parsePythonJson', () => {
  it('reads numbers that only Python writes, and leaves texts as they are', () => {
    const text = '{"limit": [0.0, Infinity], "lowest": -Infinity, "none": NaN, "text": "say \\"Infinity\\", NaN"}';
    expect(parsePythonJson(text)).toEqual({
      limit: [0, { __float__: 'Infinity' }],
      lowest: { __float__: '-Infinity' },
      none: { __float__: 'NaN' },
      text: 'say "Infinity", NaN',
    });
    expect(parsePythonJson('{"text": "Infinity"}')).toEqual({ text: 'Infinity' });
  });

  it.each(['{"limit": Infinity', '{"text": "Infinity}', '{limit: 1}', ''])('refuses what is no JSON: %s', (text) => {
    expect(() => parsePythonJson(text)).toThrow(SyntaxError);
  });
});
