import { createHash } from 'node:crypto';
import type { ToolDefinition } from '../contract/tool-use.js';
import {
  argumentsOf,
  callList,
  choice,
  jsonCall,
  literal,
  readJsonCall,
  sequence,
  space,
  type ToolStyle,
  writeJsonCall,
} from './tool-style.js';

const open = '[TOOL_CALLS]';
const args = '[ARGS]';

/** `[TOOL_CALLS] [{"name": …, "arguments": {…}}, …]`, as Mistral models up to tokenizer version 7 write calls. */
export const mistralStyle: ToolStyle = {
  name: 'mistral',
  isIn: (template) => template.includes(open) && !template.includes(args),
  marks: [open],
  idFor: shortId,
  openings: (tools, isParallel) => {
    const list = callList(jsonCall(tools, 'arguments'), sequence(literal(','), space), isParallel);
    return [{ text: open, calls: sequence(space, literal('['), list, literal(']')) }];
  },
  *read(text) {
    if ((yield* text.opening([{ text: open }])) < 0 || !(yield* text.skip('['))) return;
    do {
      if (!(yield* text.skip('{')) || !(yield* readJsonCall(text, 'arguments'))) return;
    } while (yield* text.skip(','));
    yield* text.skip(']');
  },
  write: (calls) => `${open} [${calls.map((call) => writeJsonCall(call, 'arguments')).join(', ')}]`,
};

/** `[TOOL_CALLS]name[ARGS]{…}`, once for each call, as later Mistral models write them. */
export const mistralArgsStyle: ToolStyle = {
  name: 'mistral-args',
  isIn: (template) => template.includes(open) && template.includes(args),
  marks: [open, args],
  idFor: shortId,
  openings: (tools, isParallel) => {
    const call = (tool: ToolDefinition) => sequence(literal(`${tool.name}${args}`), argumentsOf(tool));
    return [{ text: open, calls: callList(choice(tools.map(call)), literal(open), isParallel) }];
  },
  *read(text) {
    while ((yield* text.opening([{ text: open }])) >= 0) {
      const name = yield* text.upTo(args);
      if (name === null) return;
      text.begin(name.trim());
      if (!(yield* text.value())) return;
    }
  },
  write: (calls) => calls.map(({ name, arguments: text }) => `${open}${name}${args}${text}`).join(''),
};

/** Its templates take ids of nine letters and digits only. */
function shortId(id: string): string {
  return /^[A-Za-z0-9]{9}$/.test(id) ? id : createHash('sha256').update(id).digest('hex').slice(0, 9);
}
