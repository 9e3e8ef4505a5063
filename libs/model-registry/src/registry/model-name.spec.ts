import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseModelName } from './model-name.js';

describe('parseModelName', () => {
  it.each([
    ['default', 'default', {}],
    ['default:enable_web_search=on', 'default', { enable_web_search: 'on' }],
    ['a:x=1&y=two&z=', 'a', { x: '1', y: 'two', z: '' }],
    ['vendor:model', 'vendor:model', {}],
    ['vendor:model:strip_thinking_response=true', 'vendor:model', { strip_thinking_response: 'true' }],
    ['a:character_slug=b:c', 'a', { character_slug: 'b:c' }],
    ['a:x=1&y', 'a:x=1&y', {}],
    ['a:=1', 'a:=1', {}],
    [':x=1', ':x=1', {}],
    ['a:x=1=2', 'a', { x: '1=2' }],
    ['a:x=1&x=2', 'a', { x: '2' }],
    ['', '', {}],
  ])('takes %j apart', (text, name, suffix) => {
    expect(parseModelName(text)).toEqual({ name, suffix });
  });

  it('finds what the longest tail of pairs is', () => {
    const pattern = /^([^]+?):([A-Za-z_]\w*=[^&]*(?:&[A-Za-z_]\w*=[^&]*)*)$/;
    const texts = fc.array(fc.constantFrom('a', '_', '1', ':', '&', '=', '\n', 'b='), { maxLength: 14 });
    fc.assert(
      fc.property(texts, (parts) => {
        const [, name = parts.join('')] = pattern.exec(parts.join('')) ?? [];
        expect(parseModelName(parts.join('')).name).toBe(name);
      }),
      { numRuns: 2_000 },
    );
  });

  it('leaves any name without an equals sign whole', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        fc.pre(!text.includes('='));
        expect(parseModelName(text)).toEqual({ name: text, suffix: {} });
      }),
    );
  });

  it('round-trips every pair', () => {
    const key = fc.stringMatching(/^[a-z][a-z_]{0,9}$/);
    const value = fc.stringMatching(/^[A-Za-z0-9.-]{0,9}$/);
    fc.assert(
      fc.property(fc.dictionary(key, value, { minKeys: 1, maxKeys: 4, noNullPrototype: true }), (suffix) => {
        const tail = Object.entries(suffix).map(([name, text]) => `${name}=${text}`);
        expect(parseModelName(`some-model:${tail.join('&')}`)).toEqual({ name: 'some-model', suffix });
      }),
    );
  });

  it('handles a hostile text in linear time', () => {
    const text = `a${':x='.repeat(20_000)}`;
    expect(parseModelName(text).name).toBe('a');
    expect(parseModelName('a:'.repeat(20_000)).suffix).toEqual({});
  });
});
