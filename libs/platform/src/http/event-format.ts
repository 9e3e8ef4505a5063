import type { PlatformError } from '#common';
import { sseData } from './sse-writer.js';

/** How the chunks of a stream become server-sent events. */
export interface EventFormat {
  /** The event of a chunk; default: its data and nothing else. */
  frame?(json: string): string;
  /** The chunks of an error after part of the stream was sent; default: one with OpenAI's error object. */
  fail?(error: PlatformError): string[];
}

export function frameChunks(chunks: string[], format: EventFormat): string {
  return chunks.map((json) => format.frame?.(json) ?? sseData(json)).join('');
}
