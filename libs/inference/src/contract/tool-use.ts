import type { TextFormat } from './output-region.js';
import { type ToolStyleName, toolStyleNames } from '#model-registry/manifest';

export { type ToolStyleName, toolStyleNames };

/** A function that the model may call. */
export interface ToolDefinition {
  name: string;
  description?: string;
  /** JSON Schema of the arguments, which are an object. */
  parameters: object;
  /** Whether keywords of the schema that no grammar follows are refused; absent: they are refused. */
  isStrict?: boolean;
  /** Field of the caller's request that holds the schema or the format, for refusals. */
  param: string;
  /** Format of the one argument of the tool, a text. */
  textFormat?: TextFormat & { argument: string };
}

/** A call of an earlier response. */
export interface ToolCall {
  id: string;
  name: string;
  /** A JSON object as text. */
  arguments: string;
}

/** The tools of a request and how the response may use them. */
export interface ToolUse {
  /** All tools, which the prompt describes. */
  tools: ToolDefinition[];
  /** Names of those that may be called; absent: all. */
  allowed?: string[];
  /** Whether the response must be a call. */
  isRequired: boolean;
  /** Whether it may hold several calls. */
  isParallel: boolean;
}

/** A part of a response with tools. */
export type ToolCallPiece =
  | { type: 'content'; text: string }
  /** A call begins; its arguments follow. */
  | { type: 'call'; name: string }
  /** The texts of one call, joined, are a JSON object. */
  | { type: 'arguments'; text: string };
