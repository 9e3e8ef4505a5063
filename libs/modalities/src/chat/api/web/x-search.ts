import type { ChatCompletionRequest } from '../../contract/chat.request.js';
import type { ChatEffectiveParameters } from '../../contract/chat.response.js';
import type { ChatServerTool } from '../../contract/chat.tools.js';
import { isClientTool, requiresServerTool } from '../job/server-tools.js';

/** Hosts of X. */
const hosts = ['x.com', 'twitter.com'];

/** Which posts a search of X may find. */
export interface XFilter {
  /** Handles without `@`; empty: all. */
  allowed: readonly string[];
  excluded: readonly string[];
  /** First and last day, as ISO dates; null: no bound. */
  from: string | null;
  to: string | null;
}

export interface XRequest {
  filter: XFilter;
  /** Whether the model decides. */
  decides: boolean;
}

/** What a request asks of X: by its parameter, or by the tool; null if nothing. */
export function xRequestOf(
  request: ChatCompletionRequest,
  { enable_x_search: isOn }: ChatEffectiveParameters,
): XRequest | null {
  const found = request.tools?.find((candidate) => !isClientTool(candidate) && candidate.type === 'x_search');
  const tool = found === undefined || isClientTool(found) || request.tool_choice === 'none' ? null : found;
  if (!isOn && tool === null) return null;
  return { filter: filterOf(tool), decides: !isOn && !requiresServerTool(request) };
}

function filterOf(tool: ChatServerTool | null): XFilter {
  const { allowed_x_handles: allowed, excluded_x_handles: excluded, from_date: from, to_date: to } = tool ?? {};
  const plain = (handles: readonly string[] | null | undefined) =>
    (handles ?? []).map((handle) => handle.replace(/^@/, ''));
  return { allowed: plain(allowed), excluded: plain(excluded), from: from ?? null, to: to ?? null };
}

/** The sites of a search of X. */
export function sitesOfX({ allowed, excluded }: XFilter): { sites: string[]; excludedSites: string[] } {
  const of = (handles: readonly string[]) => handles.flatMap((handle) => hosts.map((host) => `${host}/${handle}`));
  return { sites: allowed.length === 0 ? hosts : of(allowed), excludedSites: of(excluded) };
}

/** Whether a post may be from a day within the bounds: one without a date that can be read may. */
export function isWithin(date: string | null, { from, to }: XFilter): boolean {
  const day = date === null || Number.isNaN(Date.parse(date)) ? null : new Date(date).toISOString().slice(0, 10);
  if (day === null) return true;
  return (from === null || day >= from) && (to === null || day <= to);
}
