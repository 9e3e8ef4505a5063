import type { DocumentFormat, DocumentHints } from '../document.js';
import type { DocumentLimits } from '../document-limits.js';
import type { PageHints } from '../page.js';

/*
 * The extractor reads one request from its standard input and writes one report to its output pipe: a length of four
 * bytes, JSON of that length, then the file or the text in UTF-8 up to the end of the pipe. One byte before the report
 * says that it began to read the file: a crash before that is not the file's fault.
 */

/** Head of a request; the bytes of the file follow. */
export interface RequestHead {
  hints: DocumentHints;
  limits: DocumentLimits;
  /** Set for a page, whose report is its JSON. */
  page?: PageHints;
}

/** Head of a report; the text follows, unless there is a fault. */
export type ReportHead = { format: DocumentFormat | 'page'; isTruncated: boolean } | { fault: string };

const lengthBytes = 4;

/** Length of the mark in front of a report. */
export const startMarkBytes = 1;

export function framed(head: RequestHead | ReportHead): Buffer {
  const json = Buffer.from(JSON.stringify(head));
  const length = Buffer.alloc(lengthBytes);
  length.writeUInt32LE(json.length);
  return Buffer.concat([length, json]);
}

/** Splits a whole message; null if it is incomplete. The head is what the other side wrote. */
export function unframed(message: Buffer): { head: unknown; body: Buffer } | null {
  if (message.length < lengthBytes) return null;
  const end = lengthBytes + message.readUInt32LE(0);
  if (message.length < end) return null;
  return { head: JSON.parse(message.toString('utf8', lengthBytes, end)), body: message.subarray(end) };
}
