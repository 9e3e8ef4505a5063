import type { ToolDefinition } from '../contract/tool-use.js';
import { argumentsOf, callList, choice, literal, sequence, type ToolStyle } from './tool-style.js';

const open = '<｜tool▁calls▁begin｜>';
const close = '<｜tool▁calls▁end｜>';
const callOpen = '<｜tool▁call▁begin｜>';
const callClose = '<｜tool▁call▁end｜>';
const separator = '<｜tool▁sep｜>';
const marks = [open, close, callOpen, callClose, separator];

const fence = '```';
const optionalLine = { type: 'regex', pattern: '\\n?' } as const;

/** Calls of DeepSeek V3 and R1: the name behind `function`, the arguments in a block of JSON. */
export const deepseekStyle: ToolStyle = deepseek('deepseek', {
  isIn: (template) => template.includes(`${fence}json`),
  before: (name) => `function${separator}${name}\n${fence}json\n`,
  after: `\n${fence}`,
});

/** Calls of DeepSeek V3.1: the name, then the arguments. */
export const deepseekV31Style: ToolStyle = deepseek('deepseek-v3.1', {
  isIn: (template) => !template.includes(`${fence}json`),
  before: (name) => `${name}${separator}`,
  after: '',
});

interface Variant {
  isIn: (template: string) => boolean;
  before: (name: string) => string;
  after: string;
}

function deepseek(name: 'deepseek' | 'deepseek-v3.1', { isIn, before, after }: Variant): ToolStyle {
  const call = (tool: ToolDefinition) =>
    sequence(literal(`${callOpen}${before(tool.name)}`), argumentsOf(tool), literal(`${after}${callClose}`));
  return {
    name,
    isIn: (template) => template.includes(callOpen) && isIn(template),
    marks,
    openings: (tools, isParallel) => {
      const list = callList(choice(tools.map(call)), optionalLine, isParallel);
      return [{ text: open, calls: sequence(list, optionalLine, literal(close)) }];
    },
    *read(text) {
      if ((yield* text.opening([{ text: open }])) < 0) return;
      while (yield* text.skip(callOpen)) {
        const head = yield* text.upTo(separator);
        const called = after === '' ? head : yield* text.upTo(`${fence}json`);
        if (called === null) return;
        text.begin(called.trim());
        if (!(yield* text.value())) return;
        if (after !== '' && !(yield* text.skip(fence))) return;
        if (!(yield* text.skip(callClose))) return;
      }
      yield* text.skip(close);
    },
    write: (calls) => {
      const written = calls.map(
        ({ name: called, arguments: text }) => `${callOpen}${before(called)}${text}${after}${callClose}`,
      );
      return `${open}${written.join('\n')}${close}`;
    },
  };
}
