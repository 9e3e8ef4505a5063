import { invalidField } from '#gateway';
import type { ChatCompletionRequest } from '../../contract/chat.request.js';
import type { ChatEffectiveParameters } from '../../contract/chat.response.js';
import type { ChatClientTool, ChatServerTool, ChatTool } from '../../contract/chat.tools.js';
import type { WebAccess } from './web-access.js';

/** A tool of this service that the model cannot use. */
export interface UnusableTool {
  /** Its field. */
  path: string;
  /** Why, as a message for the client. */
  problem: string;
}

export function isClientTool(tool: ChatTool): tool is ChatClientTool {
  return 'function' in tool || 'custom' in tool;
}

function serverToolsOf({ tools }: ChatCompletionRequest): { tool: ChatServerTool; path: string }[] {
  return (tools ?? []).flatMap((tool, index) => (isClientTool(tool) ? [] : [{ tool, path: `tools[${index}]` }]));
}

/** Whether the tools of this service are all that a request has, so that a choice among tools means them. */
export function hasOnlyServerTools({ tools }: ChatCompletionRequest): boolean {
  return tools !== undefined && tools !== null && tools.length > 0 && !tools.some(isClientTool);
}

/** Tools of this service that the model cannot use. */
export function unusableServerTools(request: ChatCompletionRequest, access: WebAccess): UnusableTool[] {
  return serverToolsOf(request).flatMap(({ tool, path }) => {
    const problem = tool.type === 'x_search' ? access.xSearch : access.search;
    return problem === null ? [] : [{ path, problem }];
  });
}

/**
 * Throws `INVALID_REQUEST` for a tool of this service that the model cannot use. `areOptional`: such tools are skipped
 * where the request has others.
 */
export function checkServerTools(request: ChatCompletionRequest, access: WebAccess, areOptional: boolean): void {
  if (areOptional && !hasOnlyServerTools(request)) return;
  const [unusable] = unusableServerTools(request, access);
  if (unusable !== undefined) throw invalidField(unusable.problem, `${unusable.path}.type`, 'unsupported');
}

/** Whether a request must use a tool, and has only those of this service. */
export function requiresServerTool(request: ChatCompletionRequest): boolean {
  return request.tool_choice === 'required' && hasOnlyServerTools(request);
}

/** The parameters with what the tools of a request ask for: the model decides, unless a tool is required. */
export function withServerTools(
  parameters: ChatEffectiveParameters,
  request: ChatCompletionRequest,
): ChatEffectiveParameters {
  const searches = serverToolsOf(request).some(({ tool }) => tool.type === 'web_search');
  const { tool_choice: choice } = request;
  if (!searches || choice === 'none' || parameters.enable_web_search === 'on') return parameters;
  return { ...parameters, enable_web_search: requiresServerTool(request) ? 'on' : 'auto' };
}
