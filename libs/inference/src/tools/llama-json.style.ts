import { bareCalls, bareEntries, readBareCalls } from './bare-call.js';
import { jsonCall, literal, readJsonCall, sequence, space, type ToolStyle, writeJsonCall } from './tool-style.js';

const start = '{"name"';
const tag = '<|python_tag|>';
const key = 'parameters';

/**
 * `{"name": …, "parameters": {…}}` as the whole response, as Llama 3.1 and 3.2 write a call. JSON that names no tool of
 * the request is content.
 */
export const llamaJsonStyle: ToolStyle = {
  name: 'llama-json',
  isIn: (template) => template.includes('"parameters": dictionary'),
  marks: [tag],
  isSingle: true,
  openings: (tools) => [
    {
      text: start,
      calls: jsonCall(tools, key, ': "'),
      entries: bareEntries(tools, key),
      otherCalls: bareCalls(tools, key, false),
    },
    { text: tag, isRare: true, calls: sequence(space, literal(start), jsonCall(tools, key, ': "')) },
  ],
  *read(text, tools) {
    const entries = bareEntries(tools, key);
    const found = yield* text.opening([{ text: tag }, ...entries]);
    const entry = entries[found - 1];
    if (entry !== undefined) return yield* readBareCalls(text, entry, key);
    if (found === 0 && (yield* text.skip(start))) yield* readJsonCall(text, key, true);
  },
  write: (calls) => calls.map((call) => writeJsonCall(call, key)).join('\n'),
};
