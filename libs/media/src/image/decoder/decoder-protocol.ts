/*
 * A decoder reads tasks from its standard input and writes a report for each to its output pipe, one at a time. Both
 * are frames: the lengths of head and body in four bytes each, the head as JSON, then the body: the file, or the pixels.
 * One byte before the first report says that the decoder has started: a crash before that is no file's fault.
 */

/** Head of a task; the file follows. */
export interface DecodeTask {
  /** 1 gray, 3 RGB over white, 4 RGB and alpha. Null: only the header is read. */
  channels: 1 | 3 | 4 | null;
  maxPixels: number;
  /** With only the header: whether to decode the image to see if any pixel is transparent, which `hasAlpha` then says. */
  findsTransparency?: boolean;
}

export interface ImageFacts {
  /** As stored, before the EXIF orientation. */
  storedWidth: number;
  storedHeight: number;
  /** As displayed. */
  width: number;
  height: number;
  hasAlpha: boolean;
}

/** `header`: it cannot be read. `pixels`: they cannot. `memory`: they need more than there is. */
export type FaultKind = 'header' | 'pixels' | 'memory';

/** Head of a report; the pixels follow, if the task wants them. */
export type DecodeReport = (ImageFacts | { fault: FaultKind }) & {
  /** Processor time of the decoder since its start. */
  cpuSeconds: number;
};

export const outputDescriptor = 3;
/** Length of the mark in front of the first report. */
export const startMarkBytes = 1;
/** Length of the two lengths. */
export const prefixBytes = 8;

export function framed(head: DecodeTask | DecodeReport, bodyBytes: number): Buffer {
  const json = Buffer.from(JSON.stringify(head));
  const prefix = Buffer.alloc(prefixBytes);
  prefix.writeUInt32LE(json.length);
  prefix.writeUInt32LE(bodyBytes, 4);
  return Buffer.concat([prefix, json]);
}

export function readPrefix(prefix: Buffer): { headBytes: number; bodyBytes: number } {
  return { headBytes: prefix.readUInt32LE(0), bodyBytes: prefix.readUInt32LE(4) };
}
