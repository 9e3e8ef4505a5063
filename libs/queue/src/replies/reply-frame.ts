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

/** The longest id of a request; ids have some 40 characters. */
const maxNameLength = 200;

/** The longest name of a sender. Names are sent back to all senders, thousands in one message. */
const senderName = /^[\w.-]{1,40}$/;

type PartTuple = [requestId: string, stream: string, first: number, events: ReplyEvent[]];
type FrameTuple = [sender: string, number: number, parts: PartTuple[]];

export function encodeFrame({ sender, number, parts }: Frame): string {
  const partTuples = parts.map(({ requestId, stream, first, events }): PartTuple => [requestId, stream, first, events]);
  return JSON.stringify([sender, number, partTuples] satisfies FrameTuple);
}

/** Returns null for a text that is not a frame, because its sender may be a compromised worker. */
export function decodeFrame(text: string): Frame | null {
  const value = parsed(text);
  if (!Array.isArray(value)) return null;
  const [sender, number, partTuples] = value as Partial<FrameTuple>;
  if (
    !isName(sender) ||
    !senderName.test(sender) ||
    !isNumber(number) ||
    !Array.isArray(partTuples) ||
    !partTuples.every(isPartTuple)
  )
    return null;
  const parts = partTuples.map(([requestId, stream, first, events]) => ({ requestId, stream, first, events }));
  return { sender, number, parts };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function isPartTuple(part: unknown): part is PartTuple {
  if (!Array.isArray(part)) return false;
  const [requestId, stream, first, events] = part as Partial<PartTuple>;
  return (
    isName(requestId) &&
    isName(stream) &&
    isNumber(first) &&
    Array.isArray(events) &&
    events.every((event: ReplyEvent | null) => typeof event?.type === 'string')
  );
}

/** Returns true for a name that is short enough to be remembered. */
function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length <= maxNameLength;
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

/** A reader's request to the senders of a scope when messages may be missing: all messages from these numbers on. */
export interface ResendRequest {
  address: string;
  /** The next expected number, by scope and sender. A sender that is not named sends everything it still has. */
  next: Record<string, Record<string, number>>;
}

/** Returns true for the last event of a request, which completes its reply stream. */
export function isFinal(event: ReplyEvent): boolean {
  return event.type === 'job-finished' || event.type === 'job-failed';
}
