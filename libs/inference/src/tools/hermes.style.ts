import type { ToolCall } from '../contract/tool-use.js';
import {
  callList,
  jsonCall,
  literal,
  readJsonCall,
  sequence,
  space,
  type ToolStyle,
  writeJsonCall,
} from './tool-style.js';
import type { CallText, Reading } from './call-text.js';

const open = '<tool_call>';
const close = '</tool_call>';

/** `<tool_call>{"name": …, "arguments": {…}}</tool_call>`, as Hermes 2 Pro, Qwen 2.5 and Qwen 3 write calls. */
export const hermesStyle: ToolStyle = {
  name: 'hermes',
  isIn: (template) => template.includes(open) && !template.includes('<function='),
  marks: [open, close],
  openings: (tools, isParallel) => {
    const body = sequence(space, jsonCall(tools, 'arguments'), space, literal(close));
    const more = sequence(space, literal(open));
    return [{ text: open, calls: callList(body, more, isParallel) }];
  },
  read: readTagged,
  write: (calls) => calls.map((call) => tagged(call)).join('\n'),
};

function* readTagged(text: CallText): Reading {
  while ((yield* text.opening([{ text: open }])) >= 0) {
    if (!(yield* text.skip('{')) || !(yield* readJsonCall(text, 'arguments')) || !(yield* text.skip(close))) return;
  }
}

function tagged(call: ToolCall): string {
  return `${open}\n${writeJsonCall(call, 'arguments')}\n${close}`;
}

/**
 * The same form for models whose template knows no tools, and for those of a style that is not known: the prompt
 * describes it.
 */
export const genericStyle: ToolStyle = { ...hermesStyle, name: 'generic', isIn: () => false };
