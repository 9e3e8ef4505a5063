import { keyOfId, type RpcCall } from './read-calls.js';

/** Beginning of an answer: members that may come in front of its result. */
const member = /^\s*"(jsonrpc|id)"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+|null)\s*,/;
const open = /^\s*\{/;
const result = /^\s*"result"\s*:/;
/** The id of an answer that has it behind its result, at the very end. */
const lastId = /"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+|null)(\s*,\s*"jsonrpc"\s*:\s*"2\.0")?\s*\}\s*$/;

/** Bytes in which the id is looked for, at both ends: more than the longest id of a call, written as an escaped string. */
const searchedBytes = 2_048;

/** An answer of a node with a result, of which the beginning is known. */
export interface AnswerStart {
  /** What is known, with the id of the call where the node wrote one. */
  head: Buffer;
  /** The id comes behind the result, or never. */
  lacksId: boolean;
}

/**
 * Reads the beginning of the answer to a single call. Null: it is not certain that the call succeeded, so the answer has to
 * be read whole.
 */
export function readStart(head: Buffer, { id, idKey }: Pick<RpcCall, 'id' | 'idKey'>): AnswerStart | null {
  const text = head.toString('latin1', 0, searchedBytes);
  const match = (pattern: RegExp, from: number): RegExpExecArray | null => pattern.exec(text.slice(from));
  const opened = match(open, 0);
  if (opened === null) return null;
  let position = opened[0].length;
  let span: { start: number; end: number } | null = null;
  for (let found = match(member, position); found !== null; found = match(member, position)) {
    const [whole, name, value = ''] = found;
    const start = position + whole.lastIndexOf(value);
    if (name === 'id') span = { start, end: start + value.length };
    position += whole.length;
  }
  if (match(result, position) === null) return null;
  if (span === null) return { head, lacksId: true };
  const answered = head.subarray(span.start, span.end);
  if (keyOfId(answered) === idKey) return { head, lacksId: false };
  return { head: Buffer.concat([head.subarray(0, span.start), id, head.subarray(span.end)]), lacksId: false };
}

/** The bytes of an answer ended early, or are no object. */
export class CutAnswerError extends Error {
  override readonly name = 'CutAnswerError';

  constructor() {
    super('the answer of the node is cut');
  }
}

/**
 * Passes an answer on while it arrives. Holds back only its last bytes, in which the id may be. Throws `CutAnswerError`
 * where the answer does not end as an object does.
 */
export async function* passAnswer(
  { head, lacksId }: AnswerStart,
  rest: AsyncIterable<Buffer>,
  id: Buffer,
): AsyncGenerator<Buffer> {
  let held = head;
  for await (const part of rest) {
    held = Buffer.concat([held, part]);
    const ready = held.length - searchedBytes;
    if (ready <= 0) continue;
    yield held.subarray(0, ready);
    held = held.subarray(ready);
  }
  const text = held.toString('latin1');
  const close = text.trimEnd().length - 1;
  if (text[close] !== '}') throw new CutAnswerError();
  if (lacksId) yield* withId(held, { text, close }, id);
  else yield held;
}

function* withId(held: Buffer, { text, close }: { text: string; close: number }, id: Buffer): Generator<Buffer> {
  const found = lastId.exec(text);
  if (found === null)
    return yield Buffer.concat([held.subarray(0, close), Buffer.from(',"id":'), id, Buffer.from('}')]);
  const [whole, value = ''] = found;
  const start = found.index + whole.indexOf(value, whole.indexOf(':'));
  const end = start + value.length;
  if (keyOfId(held.subarray(start, end)) === keyOfId(id)) return yield held;
  yield Buffer.concat([held.subarray(0, start), id, held.subarray(end)]);
}
