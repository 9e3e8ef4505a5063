import { jsonCall, literal, readJsonCall, sequence, space, type ToolStyle, writeJsonCall } from './tool-style.js';

const start = '{"name"';
const tag = '<|python_tag|>';

/** `{"name": …, "parameters": {…}}` as the whole response, as Llama 3.1 and 3.2 write a call. */
export const llamaJsonStyle: ToolStyle = {
  name: 'llama-json',
  isIn: (template) => template.includes('"parameters": dictionary'),
  marks: [tag],
  isSingle: true,
  openings: (tools) => [
    { text: start, atStart: true, calls: jsonCall(tools, 'parameters', ': "') },
    { text: tag, isRare: true, calls: sequence(space, literal(start), jsonCall(tools, 'parameters', ': "')) },
  ],
  *read(text) {
    const opening = yield* text.opening([{ text: start, atStart: true }, { text: tag }]);
    if (opening < 0 || (opening === 1 && !(yield* text.skip(start)))) return;
    yield* readJsonCall(text, 'parameters', true);
  },
  write: (calls) => calls.map((call) => writeJsonCall(call, 'parameters')).join('\n'),
};
