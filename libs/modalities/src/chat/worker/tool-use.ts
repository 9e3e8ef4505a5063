import type { ToolUse } from '#inference/output';
import type { ChatJobPayload } from '../contract/index.js';

/** How a job may use its tools; undefined without any, or where it must not call them. */
export function toolUseOf({
  tools = [],
  toolChoice = 'auto',
  allowedTools,
  parallelToolCalls = true,
}: ChatJobPayload): ToolUse | undefined {
  if (tools.length === 0 || toolChoice === 'none') return undefined;
  const isNamed = typeof toolChoice === 'object';
  return {
    tools: tools.map(({ name, description, parameters, strict, param, textFormat }, index) => ({
      name,
      description,
      parameters,
      isStrict: strict,
      param: param ?? `tools[${index}].function.parameters`,
      textFormat,
    })),
    allowed: isNamed ? [toolChoice.name] : allowedTools,
    isRequired: isNamed || toolChoice === 'required',
    // A named function is called once.
    isParallel: parallelToolCalls && !isNamed,
  };
}
