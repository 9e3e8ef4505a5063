import type { ChatCompletionRequest } from '../../contract/chat.request.js';
import type { ChatEffectiveParameters } from '../../contract/chat.response.js';
import type { ChatClientTool, ChatServerTool, ChatTool } from '../../contract/chat.tools.js';

/** The tools of this service that a request names. */
export interface ServerTools {
  tools: { type: ChatServerTool['type']; path: string }[];
  /** Whether the request has no others, so that a choice among tools means them. */
  areAll: boolean;
}

export function isClientTool(tool: ChatTool): tool is ChatClientTool {
  return 'function' in tool || 'custom' in tool;
}

export function serverToolsOf({ tools }: ChatCompletionRequest): ServerTools {
  const ofService = (tools ?? []).flatMap((tool, index) =>
    isClientTool(tool) ? [] : [{ type: tool.type, path: `tools[${index}]` }],
  );
  return { tools: ofService, areAll: ofService.length > 0 && ofService.length === tools?.length };
}

/** Whether a request must use a tool, and has only those of this service. */
export function requiresServerTool(request: ChatCompletionRequest): boolean {
  return request.tool_choice === 'required' && serverToolsOf(request).areAll;
}

/** The parameters with what the tools of a request ask for: the model decides, unless a tool is required. */
export function withServerTools(
  parameters: ChatEffectiveParameters,
  { tools, areAll }: ServerTools,
  choice: ChatCompletionRequest['tool_choice'],
): ChatEffectiveParameters {
  const searches = tools.some(({ type }) => type === 'web_search');
  if (!searches || choice === 'none' || parameters.enable_web_search === 'on') return parameters;
  return { ...parameters, enable_web_search: choice === 'required' && areAll ? 'on' : 'auto' };
}
