import type { MailboxEvent } from './transport.js';

/**
 * Events of one request inside a message. `stream` names one writer of one delivery of the job: a second delivery
 * writes a stream of its own, from 0. `first` is the number of the first event; the others follow without a gap.
 */
export interface FramePart {
  requestId: string;
  stream: string;
  first: number;
  events: MailboxEvent[];
}

type WirePart = [requestId: string, stream: string, first: number, events: MailboxEvent[]];

/** One message to one address, with events of any number of requests. */
export function encodeFrame(parts: FramePart[]): string {
  return JSON.stringify(parts.map(({ requestId, stream, first, events }) => [requestId, stream, first, events]));
}

export function decodeFrame(text: string): FramePart[] {
  const wire = JSON.parse(text) as WirePart[];
  return wire.map(([requestId, stream, first, events]) => ({ requestId, stream, first, events }));
}

/** The last event of a request, after which its slot is complete. */
export function isFinal(event: MailboxEvent): boolean {
  return event.type === 'job-finished' || event.type === 'job-failed';
}
