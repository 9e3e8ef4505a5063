import { PlatformError } from '#common';
import { findIssues, invalidRequest } from '#platform/validation';
import type { ChatEffectiveParameters } from '../../contract/chat.response.js';
import { type ChatCompletionRequest, ChatServiceParameters } from '../../contract/chat.request.js';
import { withoutNulls } from './without-nulls.js';

const defaults: ChatEffectiveParameters = {
  strip_thinking_response: false,
  disable_thinking: false,
  enable_e2ee: true,
  enable_web_search: 'off',
  enable_web_scraping: false,
  enable_web_citations: false,
  include_search_results_in_stream: false,
  return_search_results_as_documents: false,
  include_service_system_prompt: true,
  enable_x_search: false,
  web_search_citations: [],
};

const members = new Set([...Object.keys(defaults), 'character_slug']);
members.delete('web_search_citations');

function suffixValue(text: string): string | boolean {
  if (text === 'true') return true;
  return text === 'false' ? false : text;
}

/**
 * Reads the pairs of a model suffix as `service_parameters`. Throws `INVALID_REQUEST` on `model` for an unknown one.
 */
function suffixParameters(suffix: Record<string, string>): ChatServiceParameters {
  const parameters: Record<string, string | boolean> = {};
  for (const [name, text] of Object.entries(suffix)) {
    if (!members.has(name)) {
      const message = `The model suffix has an unknown parameter: ${name.slice(0, 64)}.`;
      throw new PlatformError('INVALID_REQUEST', message, 'model');
    }
    parameters[name] = name === 'character_slug' ? text : suffixValue(text);
  }
  const issues = findIssues(ChatServiceParameters, parameters);
  if (issues.length === 0) return parameters;
  const prefix = 'The model suffix is wrong: ';
  throw invalidRequest(issues.map((issue) => ({ ...issue, path: ['model'], message: `${prefix}${issue.message}` })));
}

/** Returns the effective parameters: defaults, then the model's suffix, then the body, which takes precedence. */
export function effectiveParameters(
  suffix: Record<string, string>,
  body: ChatServiceParameters | null | undefined,
): ChatEffectiveParameters {
  const named = { ...suffixParameters(suffix), ...withoutNulls(body ?? {}) };
  const known = Object.entries(named).filter(([name]) => members.has(name));
  return { ...defaults, web_search_citations: [], ...Object.fromEntries(known) };
}

/** Returns the requested effort, from either field; null without one or if reasoning is disabled. */
export function effortOf({ reasoning, reasoning_effort: named }: ChatCompletionRequest): string | null {
  return reasoning?.enabled === false ? null : (named ?? reasoning?.effort ?? null);
}
