import type { ChatJobTool, ChatJobToolCall } from './chat.job.js';

/* How many bytes chat templates may write for tools and their calls. */

/** What templates say of tools in general, and around each tool, call, result and argument. */
const introduction = 4_096;
const aroundTool = 512;
const aroundCall = 256;
const aroundArgument = 48;

/** Templates write a tool as indented JSON or, longer, with a tag around each member. */
export function toolBytes(tools: readonly ChatJobTool[]): number {
  if (tools.length === 0) return 0;
  return tools.reduce((bytes, { name, description, parameters }) => {
    const text = JSON.stringify({ name, description, parameters }, null, 4);
    return bytes + 2 * Buffer.byteLength(text) + aroundTool;
  }, introduction);
}

/** Templates write arguments as JSON with blanks in it, or each with tags around it. */
export function callBytes(calls: readonly ChatJobToolCall[], toolCallId: string | undefined): number {
  const ofResult = toolCallId === undefined ? 0 : Buffer.byteLength(toolCallId) + aroundCall;
  return calls.reduce((bytes, { id, name, arguments: text }) => {
    const members = text.split(':').length + text.split(',').length;
    const written = Buffer.byteLength(id) + Buffer.byteLength(name) + Buffer.byteLength(text);
    return bytes + written + members * aroundArgument + aroundCall;
  }, ofResult);
}
