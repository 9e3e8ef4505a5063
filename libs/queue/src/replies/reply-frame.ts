import type { ReplyEvent } from '../contract/transport.js';

/**
 * Events of one request inside a message. `stream` names one writer of one delivery of the job: a second delivery
 * writes a stream of its own, from 0. `first` is the number of the first event; the others follow without a gap.
 */
export interface FramePart {
  requestId: string;
  stream: string;
  first: number;
  events: ReplyEvent[];
}

/** One message of one sender to one address. A sender numbers its messages from 0, without a gap. */
export interface Frame {
  sender: string;
  number: number;
  parts: FramePart[];
}

/** Ids of requests have some 40 characters. */
const maxNameLength = 200;

/** Names of senders are sent back to all of them, thousands in one message. */
const senderName = /^[\w.-]{1,40}$/;

type WirePart = [requestId: string, stream: string, first: number, events: ReplyEvent[]];
type WireFrame = [sender: string, number: number, parts: WirePart[]];

export function encodeFrame({ sender, number, parts }: Frame): string {
  const wire = parts.map(({ requestId, stream, first, events }): WirePart => [requestId, stream, first, events]);
  return JSON.stringify([sender, number, wire] satisfies WireFrame);
}

/** Returns null for what is no frame: its sender may be a worker that does as it likes. */
export function decodeFrame(text: string): Frame | null {
  const value = parsed(text);
  if (!Array.isArray(value)) return null;
  const [sender, number, wire] = value as Partial<WireFrame>;
  if (
    !isName(sender) ||
    !senderName.test(sender) ||
    !isNumber(number) ||
    !Array.isArray(wire) ||
    !wire.every(isWirePart)
  )
    return null;
  const parts = wire.map(([requestId, stream, first, events]) => ({ requestId, stream, first, events }));
  return { sender, number, parts };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function isWirePart(part: unknown): part is WirePart {
  if (!Array.isArray(part)) return false;
  const [requestId, stream, first, events] = part as Partial<WirePart>;
  return (
    isName(requestId) &&
    isName(stream) &&
    isNumber(first) &&
    Array.isArray(events) &&
    events.every((event: ReplyEvent | null) => typeof event?.type === 'string')
  );
}

/** Names are remembered. */
function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length <= maxNameLength;
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

/** A reader's request to the senders of a scope when messages may be missing: all from these numbers on, or all. */
export interface ResendRequest {
  address: string;
  /** The next number expected, by scope and sender; of a sender that is not named, all it has. */
  next: Record<string, Record<string, number>>;
}

/** The last event of a request, which completes its reply stream. */
export function isFinal(event: ReplyEvent): boolean {
  return event.type === 'job-finished' || event.type === 'job-failed';
}
