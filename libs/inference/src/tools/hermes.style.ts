import type { ToolCall, ToolDefinition } from '../contract/tool-use.js';
import { bareCalls, bareEntries, readBareCalls } from './bare-call.js';
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
const key = 'arguments';

/**
 * `<tool_call>{"name": …, "arguments": {…}}</tool_call>`, as Hermes 2 Pro, Qwen 2.5 and Qwen 3 write calls. Models for code
 * of the same template often leave the tags out.
 */
export const hermesStyle: ToolStyle = {
  name: 'hermes',
  isIn: (template) => template.includes(open) && !template.includes('<function='),
  marks: [open, close],
  openings: (tools, isParallel) => {
    const body = sequence(space, jsonCall(tools, key), space, literal(close));
    const more = sequence(space, literal(open));
    const calls = callList(body, more, isParallel);
    const entries = [{ text: open, entered: open }, ...bareEntries(tools, key)];
    return [{ text: open, calls, entries, otherCalls: bareCalls(tools, key, isParallel) }];
  },
  read: readCalls,
  write: (calls) => calls.map((call) => tagged(call)).join('\n'),
};

function* readCalls(text: CallText, tools: readonly ToolDefinition[]): Reading {
  const entries = text.hasBareCalls ? bareEntries(tools, key) : [];
  const first = yield* text.opening([{ text: open }, ...entries]);
  const entry = entries[first - 1];
  if (entry !== undefined) return yield* readBareCalls(text, entry, key);
  for (let found = first; found >= 0; found = yield* text.opening([{ text: open }])) {
    if (!(yield* text.skip('{')) || !(yield* readJsonCall(text, key)) || !(yield* text.skip(close))) return;
  }
}

function tagged(call: ToolCall): string {
  return `${open}\n${writeJsonCall(call, key)}\n${close}`;
}

/**
 * The same form for models whose template knows no tools, and for those of a style that is not known: the prompt
 * describes it.
 */
export const genericStyle: ToolStyle = { ...hermesStyle, name: 'generic', isIn: () => false };
