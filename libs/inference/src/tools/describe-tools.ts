import type { ToolDefinition } from '../contract/tool-use.js';
import type { ControlTokens } from '../text/control-tokens.js';
import type { ToolStyle } from './tool-style.js';

/** What the prompt says of tools where the template does not say it. The definitions are marked as text of a caller. */
export function describeTools({
  style,
  tools,
  control,
}: {
  style: ToolStyle;
  tools: readonly ToolDefinition[];
  control: ControlTokens;
}): string {
  const listed = tools.map(({ name, description, parameters }) =>
    control.mark(JSON.stringify({ name, ...(description === undefined ? {} : { description }), parameters })),
  );
  const example: ToolDefinition = {
    name: 'function_name',
    param: '',
    parameters: { type: 'object', properties: { argument: { type: 'string' } } },
  };
  const call = style.write([{ id: '', name: example.name, arguments: '{"argument": "value"}' }], [example]);
  return [
    'You can call functions. These are the functions, with the JSON schema of their arguments:',
    listed.join('\n'),
    'To call a function, write its name and its arguments exactly like this:',
    call,
    'Call a function only where it helps. Results follow in the next message.',
  ].join('\n');
}
