import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ControlTokens, isMarked, restoreEscapedMarks } from './control-tokens.js';

const added = [
  ...['</s>', '<|im_end|>', '[INST]', 'ENDOFTURN', '\n\n', '   ', '▁▁'].map((content) => ({ content, special: true })),
  ...['<|fim_prefix|>', '<｜User｜>', '<tool_call>', '[ARGS]', '◁think▷', '<table>', '<b>', '🐀', '  '].map(
    (content) => ({
      content,
    }),
  ),
];

describe('control tokens of a vocabulary', () => {
  const contents = (named: string[]) => [...new ControlTokens(added, named).contents];

  it('are the special ones and those between pipes, but no white space and no emoji', () => {
    const always = ['</s>', '<|im_end|>', '[INST]', 'ENDOFTURN', '<|fim_prefix|>', '<｜User｜>'];
    expect(contents([])).toEqual(always);
  });

  it('are those in brackets that a template or a reader of output names', () => {
    const named = ["{{ '<tool_call>' }} ◁think▷ and more", '[ARGS]'];
    expect(contents(named).slice(6)).toEqual(['<tool_call>', '[ARGS]', '◁think▷']);
  });
});

describe('marks', () => {
  const control = new ControlTokens(added, ['<tool_call>']);
  const pieces = fc.constantFrom(
    '</s>',
    '<',
    '>',
    '|',
    '[',
    'ENDOFTURN',
    'a',
    ' s ',
    '🐀',
    '\u{1f43f}',
    '水',
    '\n',
    '\\',
    '"',
  );
  const texts = fc.array(pieces, { maxLength: 20 }).map((parts) => parts.join(''));

  it('keep the length of a text and are removed again', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const marked = control.mark(text);
        expect(marked).toHaveLength(text.length);
        expect(control.unmark(marked)).toBe(text);
        expect(control.mark(marked)).toBe(marked);
        for (const { content } of added.slice(0, 4)) expect(marked).not.toContain(content);
      }),
    );
  });

  it('leave ordinary words and an emoji alone', () => {
    expect(control.mark('Is a-b_c.d 🐀 x?')).toBe('Is a-b_c.d 🐀 x?');
    expect(isMarked('🐀')).toBe(false);
  });

  it('are on names between brackets too, which a template may complete', () => {
    for (const name of ['tool_call', ' tool_call\n', 's', 'im_end']) expect(isMarked(control.mark(name))).toBe(true);
    expect(isMarked(control.mark('my tool_call'))).toBe(false);
  });

  it('are in all texts of a value, and survive JSON', () => {
    const value = { '<|im_end|>': ['</s>', { n: 1, ok: true, none: null }], plain: 'a' };
    const marked = control.markAll(value);
    expect(Object.keys(marked)).toHaveLength(2);
    expect(control.unmark(restoreEscapedMarks(JSON.stringify(marked)))).toBe(JSON.stringify(value));
    expect(restoreEscapedMarks(String.raw`"\\udc00 \n \udc00"`)).toBe(`"${String.raw`\\udc00 \n `}\udc00"`);
  });

  it('are not on structure that the platform wrote', () => {
    const text = '<tool_call>{"a": "</s>"}';
    const marked = control.markExcept(text, ['<tool_call>']);
    expect(marked.startsWith('<tool_call>')).toBe(true);
    expect(marked).not.toContain('</s>');
    expect(control.unmark(marked)).toBe(text);
  });

  it('read half of a character as text', () => {
    expect(control.markAll('a\ud800 b\udc00')).toBe('a\ufffd b\ufffd');
  });
});
