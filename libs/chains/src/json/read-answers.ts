import { JsonCursor, type Span } from './json-cursor.js';
import { keyOfId, type RpcRequest } from './read-calls.js';

/** One answer of a node: its place in the body, and those of its members that are looked at. */
export interface RpcAnswer extends Span {
  id: Span | null;
  idKey: string | null;
  /** Null where the call succeeded. */
  error: Span | null;
}

export interface RpcAnswers {
  bytes: Buffer;
  isBatch: boolean;
  answers: RpcAnswer[];
}

/** Finds the answers in the body of a node. Throws `JsonFault` if it is no JSON-RPC answer. */
export function readAnswers(bytes: Buffer): RpcAnswers {
  const cursor = new JsonCursor(bytes);
  const answers: RpcAnswer[] = [];
  const isBatch = cursor.isAtArray;
  if (isBatch) cursor.readArray(() => answers.push(readAnswer(cursor, bytes)));
  else answers.push(readAnswer(cursor, bytes));
  cursor.expectEnd();
  return { bytes, isBatch, answers };
}

function readAnswer(cursor: JsonCursor, bytes: Buffer): RpcAnswer {
  cursor.peek();
  const { position: start } = cursor;
  const members = new Map<string, Span>();
  cursor.readObject((name) => {
    const span = cursor.skipValue();
    if (looked.has(name) && !members.has(name)) members.set(name, span);
  });
  const error = members.get('error') ?? null;
  const isError = error !== null && bytes[error.start] === 0x7b;
  if (!isError && !members.has('result')) throw cursor.fault('has neither a result nor an error');
  const id = members.get('id') ?? null;
  return {
    start,
    end: cursor.position,
    id,
    idKey: id === null ? null : keyOfId(bytes.subarray(id.start, id.end)),
    error: isError ? error : null,
  };
}

const looked: ReadonlySet<string> = new Set(['id', 'error', 'result']);

/** What a caller gets: the node's bytes, in the order of the calls. */
export interface ComposedAnswer {
  bytes: Buffer;
  /** One per call: whether it ended in an error. */
  failed: boolean[];
}

/**
 * Arranges the answers of a node in the order of the calls, with the ids as the calls have them. Everything else keeps
 * its bytes, apart from errors, in which `redact` may replace text. A call without an answer gets an error of its own.
 */
export function composeAnswers(
  { calls, isBatch }: RpcRequest,
  { bytes, answers, isBatch: isList }: RpcAnswers,
  redact: (text: string) => string,
): ComposedAnswer {
  const byId = new Map<string, RpcAnswer>();
  for (const answer of answers) {
    if (answer.idKey !== null && !byId.has(answer.idKey)) byId.set(answer.idKey, answer);
  }
  const [only] = answers;
  // The single answer to a request is that of its only call, or the refusal of a whole batch, which names no call.
  const shared = isList ? undefined : only;
  // Of calls that a node could not read.
  const nameless = answers.filter(({ idKey, error }) => isList && idKey === 'null' && error !== null);
  const failed: boolean[] = [];
  const parts: Buffer[] = [];
  for (const { id, idKey } of calls) {
    const answer = byId.get(idKey) ?? (isBatch && shared?.error === null ? undefined : shared) ?? nameless.shift();
    failed.push(answer === undefined || answer.error !== null);
    if (parts.length > 0) parts.push(comma);
    if (answer === undefined) parts.push(open, id, lost);
    else parts.push(...pieces(bytes, answer, { id, idKey, redact }));
  }
  return { bytes: Buffer.concat(isBatch ? [openArray, ...parts, closeArray] : parts), failed };
}

const comma = Buffer.from(',');
const [openArray, closeArray] = [Buffer.from('['), Buffer.from(']')];
const open = Buffer.from('{"jsonrpc":"2.0","id":');
const lost = Buffer.from(',"error":{"code":-32603,"message":"The node did not answer this call."}}');

interface Replacements {
  id: Buffer;
  idKey: string;
  redact: (text: string) => string;
}

function pieces(
  bytes: Buffer,
  { start, end, id, idKey: answeredKey, error }: RpcAnswer,
  wanted: Replacements,
): Buffer[] {
  const edits: { span: Span; text: Buffer }[] = [];
  if (id !== null && answeredKey !== wanted.idKey) edits.push({ span: id, text: wanted.id });
  if (error !== null) {
    const text = bytes.toString('utf8', error.start, error.end);
    const redacted = wanted.redact(text);
    if (redacted !== text) edits.push({ span: error, text: Buffer.from(redacted) });
  }
  // An answer without an id gets it in front.
  if (id === null)
    edits.push({
      span: { start: start + 1, end: start + 1 },
      text: Buffer.from(`"id":${wanted.id.toString('utf8')},`),
    });
  const parts: Buffer[] = [];
  let from = start;
  for (const { span, text } of edits.toSorted((left, right) => left.span.start - right.span.start)) {
    parts.push(bytes.subarray(from, span.start), text);
    from = span.end;
  }
  parts.push(bytes.subarray(from, end));
  return parts;
}

/** The errors of a node's answers, as text; for looking whether they say something known. */
export function errorTexts({ bytes, answers }: RpcAnswers): string[] {
  return answers.flatMap(({ error }) => (error === null ? [] : bytes.toString('utf8', error.start, error.end)));
}
