import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ReasoningFormat } from '../contract/reasoning-format.js';
import { findReasoningFormat } from './reasoning-formats.js';
import { ReasoningScanner } from './reasoning-scanner.js';

/** A template of each kind, shortened to the part that mentions reasoning. */
const templates = {
  qwen: "{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}",
  deepseek: "{% if '</think>' in content %}{% set content = content.split('</think>')[-1] %}{% endif %}",
  command: "{{ '<|START_THINKING|>' }}{{ message.tool_plan }}{{ '<|END_THINKING|>' }}",
  magistral: "[THINK]{{ block['thinking'] }}[/THINK]",
  seed: "{{ '<seed:think>' }}",
  kimi: '◁think▷',
  apertus: "{%- set inner_token = '<|inner_prefix|>' -%}",
  harmony: '{{- "<|start|>assistant<|channel|>analysis<|message|>" + message.thinking + "<|end|>" }}',
};

const formats = Object.values(templates).map((template) => findReasoningFormat(template) as ReasoningFormat);

interface Reading {
  tag: string;
  reasoning: string;
  answer: string;
}

function read(pieces: readonly string[], format: ReasoningFormat, startsInside = false): Reading {
  const scanner = new ReasoningScanner(format, { startsInside });
  const reading: Reading = { tag: '', reasoning: '', answer: '' };
  const parts = [...pieces.flatMap((piece) => scanner.push(piece)), ...scanner.flush()];
  for (const { kind, text } of parts) reading[kind] += text;
  expect(parts.map(({ text }) => text).join('')).toBe(pieces.join(''));
  return reading;
}

describe('findReasoningFormat', () => {
  it('finds the delimiters that a template mentions', () => {
    expect(formats.map(({ open }) => open)).toEqual([
      '<think>',
      '<think>',
      '<|START_THINKING|>',
      '[THINK]',
      '<seed:think>',
      '◁think▷',
      '<|inner_prefix|>',
      '<|channel|>analysis<|message|>',
    ]);
  });

  it('finds none in a template that mentions none', () => {
    expect(findReasoningFormat('{{ messages[-1].content }}')).toBeNull();
  });
});

describe.each(formats)('ReasoningScanner with $open', (format) => {
  const { open, close, answer: mark } = format;

  it('reads the same text at every cut', () => {
    const text = `\n${open}so ${close.slice(0, -1)} so${close}\n\nYes ${open}.`;
    const whole = read([text], format);
    expect(whole).toEqual({
      tag: `\n${open}${close}`,
      reasoning: `so ${close.slice(0, -1)} so`,
      answer: `\n\nYes ${open}.`,
    });
    for (let cut = 0; cut <= text.length; cut++) {
      expect(read([text.slice(0, cut), text.slice(cut)], format)).toEqual(whole);
    }
    expect(read([...text], format)).toEqual(whole);
  });

  it('reads the same text at every cut when the prompt has opened the block', () => {
    const text = `so${close}Yes`;
    for (let cut = 0; cut <= text.length; cut++) {
      const pieces = [text.slice(0, cut), text.slice(cut)];
      expect(read(pieces, format, true)).toEqual({ tag: close, reasoning: 'so', answer: 'Yes' });
    }
  });

  it('does not depend on where pieces are split', () => {
    const part = fc.constantFrom(
      open,
      close,
      open.slice(0, 3),
      close.slice(-4),
      mark ?? ' ',
      ' ',
      '\n',
      'a',
      '水',
      '🌊',
    );
    const cuts = fc.array(fc.nat({ max: 120 }), { maxLength: 12 });
    fc.assert(
      fc.property(fc.array(part, { maxLength: 10 }), cuts, fc.boolean(), (parts, places, startsInside) => {
        const text = parts.join('');
        const borders = [...new Set(places.map((place) => Math.min(place, text.length)))].sort((a, b) => a - b);
        const pieces = [...borders, text.length].map((end, index) => text.slice(borders[index - 1] ?? 0, end));
        expect(read(pieces, format, startsInside)).toEqual(read([text], format, startsInside));
      }),
      { numRuns: 300 },
    );
  });
});

describe('ReasoningScanner', () => {
  it('drops the mark of an answer without reasoning', () => {
    const format = findReasoningFormat(templates.harmony) as ReasoningFormat;
    expect(read(['<|channel|>fin', 'al<|message|>Yes'], format)).toEqual({
      tag: '<|channel|>final<|message|>',
      reasoning: '',
      answer: 'Yes',
    });
  });
});
