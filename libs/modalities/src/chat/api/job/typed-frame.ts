import { sseData } from '#platform/http';

const typeStart = '{"type":"'.length;

/** The server-sent event of a chunk whose JSON begins with its type. The event is named by that type. */
export function typedFrame(json: string): string {
  return `event: ${json.slice(typeStart, json.indexOf('"', typeStart))}\n${sseData(json)}`;
}
