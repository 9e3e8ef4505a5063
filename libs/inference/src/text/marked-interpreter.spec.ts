import { Environment, Interpreter, Template } from '@huggingface/jinja';
import { describe, expect, it } from 'vitest';
import { ControlTokens } from './control-tokens.js';
import { MarkedInterpreter } from './marked-interpreter.js';

const control = new ControlTokens([
  { content: '<think>', special: true },
  { content: '</think>', special: true },
  { content: '<|end|>', special: true },
]);
const values = {
  text: '<think>One</think>Two <|end|>',
  word: 'think',
  other: '<|end|>',
  list: ['<think>', 'b'],
  map: { '<think>': 1, think: 'x|y', plain: '<' },
};

function render(source: string, marked: boolean): string {
  const environment = new Environment();
  const given = marked ? control.markAll(values) : values;
  const all = {
    ...given,
    true: true,
    false: false,
    none: null,
    range: (end: number) => Array.from({ length: end }, (_, i) => i),
  };
  for (const [name, value] of Object.entries(all)) environment.set(name, value);
  const { parsed } = new Template(source);
  const interpreter = marked ? new MarkedInterpreter(environment, control) : new Interpreter(environment);
  const result = interpreter.run(parsed as never) as { value: unknown };
  return String(result.value);
}

describe('MarkedInterpreter', () => {
  it.each([
    "{{ '</think>' in text }} {{ '<think>' not in text }} {{ text in text }} {{ 'x' in text }}",
    "{{ other == '<|end|>' }} {{ '<|end|>' != other }} {{ other == other }} {{ word == 'think' }}",
    "{{ text.startswith('<think>') }} {{ text.endswith(other) }} {{ text.startswith(('a', '<think>')) }}",
    "{{ text.split('</think>')[-1] }}|{{ text.split('</think>')[0].split('<think>')[-1] }}|{{ text.split('>', 1) | length }}",
    "{% for part in text.split() %}[{{ part }}]{% endfor %}{{ text.split('>', 1)[1] }}",
    "{{ text.replace('</think>', '<|end|>') }} {{ text | replace('think', '[') }} {{ text.replace('<', '(', 1) }}",
    "{{ text.replace('n', 'm', count=1) }} {{ text | replace('', '-') }} {{ 'a<think>b' | replace('<think>', text) }}",
    "{{ '<think>' in list }} {{ 'b' in list }} {{ 'c' in list }} {{ list | join(', ') }} {{ list[0] == '<think>' }}",
    "{{ map['<think>'] }} {{ map.think }} {{ map['think'] }} {{ map.get('<think>') }} {{ map.get('no', 'none') }}",
    "{{ '<think>' in map }} {{ 'think' in map }} {{ 'other' in map }} {{ map[word] }} {{ map.get(word) }}",
    '{% for name, value in map.items() %}{{ name }}={{ value }};{% endfor %}{% for name in map %}{{ map[name] }}{% endfor %}',
    '{{ map | tojson }} {{ map | tojson(indent=2) }} {{ list | tojson }} {{ text | tojson }} {{ map }} {{ list | string }}',
    '{{ text | upper }} {{ text | lower }} {{ word | upper }} {{ word.capitalize() }} {{ text | title }}',
    "{{ text[:7] }} {{ text[7:] | trim }} {{ text[0] }} {{ text[-1] == '>' }} {{ text | length }} {{ text[::-1] }}",
    "{% set x = text + ' ' + other %}{{ '<|end|> <|end|>' in x }}{{ x ~ word }}{% if text %}yes{% endif %}",
    "{% set ns = namespace(t=text) %}{{ ns.t.split('<|')[0] }}{% macro m(v) %}<{{ v }}>{% endmacro %}{{ m(word) }}",
    '{{ text is string }} {{ map is mapping }} {{ map.none is defined }} {{ map.think is defined }} {{ none is none }}',
    '{{ text | indent(2) }}{{ list | first }}{{ list | last }}{{ text.strip() }}{{ word or other }}{{ word and text }}',
  ])('gives the text that plain text gives: %s', (source) => {
    expect(control.unmark(render(source, true))).toBe(render(source, false));
  });

  it('leaves no control token of a value in its text, and all of the template', () => {
    const source =
      "<|end|>{{ text }}{{ word }}<{{ word }}>{{ map }}{{ list | tojson }}{{ text.split('>')[0] }}{{ '<|end|>' }}";
    const text = render(source, true);
    expect(text.match(/<\|end\|>|<\/?think>/g)).toEqual(['<|end|>', '<|end|>']);
  });
});
