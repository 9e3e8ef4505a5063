import { type ErrorIssue, PlatformError } from '#common';
import { checkJson } from '#platform/json';
import { explainRefusal, findMethod, type RpcMethod } from '../methods.js';
import type { RpcNetwork } from '../networks.js';
import { JsonCursor, JsonFault, type Span } from './json-cursor.js';

/** One call of a request. */
export interface RpcCall {
  /** Its id as it was sent: a number, a string or null. */
  id: Buffer;
  /** Equal for equal ids, however they are written. */
  idKey: string;
  method: RpcMethod;
}

export interface RpcRequest {
  /** The body as it was sent. */
  bytes: Buffer;
  isBatch: boolean;
  /** In their order. */
  calls: RpcCall[];
  /** One of its calls changes the chain. */
  sends: boolean;
}

/** Most calls of a batch. */
export const maxCalls = 100;
/** Longest id and method, in bytes. */
const maxNameBytes = 256;
const wholeNumber = /^-?(?:0|[1-9]\d{0,77})$/;
const byteOrderMark = 3;

/**
 * Finds the calls of a body, without their params. Throws `INVALID_REQUEST`: with every fault of its members, or with
 * every method that the network does not take.
 */
export function readCalls(body: Buffer, network: RpcNetwork): RpcRequest {
  const bytes = body[0] === 0xef ? body.subarray(byteOrderMark) : body;
  // The cursor is more lenient than JSON; nodes may read what is between the two in several ways.
  checkJson(body);
  const reader = new CallReader(bytes, network);
  reader.read();
  return {
    bytes,
    isBatch: reader.isBatch,
    calls: reader.calls,
    sends: reader.calls.some(({ method }) => method.sends),
  };
}

type Members = Map<string, Span>;

class CallReader {
  readonly calls: RpcCall[] = [];
  isBatch = false;
  private readonly issues: ErrorIssue[] = [];
  private readonly refusals: ErrorIssue[] = [];
  private readonly ids = new Set<string>();
  private readonly cursor: JsonCursor;

  constructor(
    private readonly bytes: Buffer,
    private readonly network: RpcNetwork,
  ) {
    this.cursor = new JsonCursor(bytes);
  }

  read(): void {
    try {
      this.isBatch = this.cursor.isAtArray;
      if (this.isBatch) this.readBatch();
      else this.readCall([]);
      this.cursor.expectEnd();
    } catch (error) {
      if (!(error instanceof JsonFault)) throw error;
      throw new PlatformError('INVALID_REQUEST', `The body ${error.problem}.`, null, { cause: error });
    }
    if (this.issues.length > 0) throw invalid(this.issues);
    if (this.refusals.length > 0) throw unsupported(this.network, this.refusals);
  }

  private readBatch(): void {
    let count = 0;
    this.cursor.readArray((index) => {
      count = index + 1;
      if (count > maxCalls) throw invalid([issueOf([], `A batch has ${maxCalls} calls at most.`)]);
      this.readCall([index]);
    });
    if (count === 0) throw invalid([issueOf([], 'A batch has at least one call.')]);
  }

  private readCall(path: number[]): void {
    if (!this.cursor.isAtObject) {
      this.cursor.skipValue();
      this.report(path, 'must be an object with jsonrpc, id, method and params');
      return;
    }
    const members: Members = new Map();
    this.cursor.readObject((name) => {
      const span = this.cursor.skipValue();
      // Nodes that ignore the case of names would take another member for one that was checked.
      if (!known.has(name)) this.report(path, `has the unknown member ${JSON.stringify(shorten(name))}`);
      else if (members.has(name)) this.report([...path, name], 'is there twice');
      else members.set(name, span);
    });
    this.checkVersion(members, path);
    this.checkParams(members, path);
    const id = this.readId(members, path);
    const method = this.readMethod(members, path);
    if (id !== null && method !== null) this.calls.push({ ...id, method });
  }

  private checkVersion(members: Members, path: number[]): void {
    const text = this.textAt(members.get('jsonrpc'));
    if (text !== null && text !== '"2.0"') this.report([...path, 'jsonrpc'], 'must be "2.0"');
  }

  private checkParams(members: Members, path: number[]): void {
    const span = members.get('params');
    if (span === undefined) return;
    const first = String.fromCharCode(this.bytes[span.start] ?? 0);
    if (first !== '[' && first !== '{') this.report([...path, 'params'], 'must be an array or an object');
  }

  private readId(members: Members, path: number[]): Pick<RpcCall, 'id' | 'idKey'> | null {
    const at = [...path, 'id'];
    const span = members.get('id');
    if (span === undefined) return this.report(at, 'is missing: notifications are not supported');
    if (span.end - span.start > maxNameBytes) return this.report(at, `must have ${maxNameBytes} bytes at most`);
    const id = this.bytes.subarray(span.start, span.end);
    const idKey = keyOfId(id);
    if (idKey === null) return this.report(at, 'must be a whole number, a string or null');
    if (this.ids.has(idKey)) return this.report(at, 'must differ from other ids of the batch');
    this.ids.add(idKey);
    return { id, idKey };
  }

  private readMethod(members: Members, path: number[]): RpcMethod | null {
    const at = [...path, 'method'];
    const span = members.get('method');
    if (span === undefined) return this.report(at, 'is missing');
    if (this.bytes[span.start] !== 0x22) return this.report(at, 'must be a string');
    const name = span.end - span.start > maxNameBytes ? '' : this.cursor.textOf(span);
    const method = findMethod(this.network, name);
    if (method !== null) return method;
    const shown = /^[A-Za-z0-9_]+$/.test(name) ? name : 'The method';
    this.refusals.push(issueOf(at, `${shown} ${explainRefusal(name)}`, 'unsupported_method'));
    return null;
  }

  private textAt(span: Span | undefined): string | null {
    if (span === undefined) return null;
    return span.end - span.start > maxNameBytes ? '' : this.bytes.toString('utf8', span.start, span.end);
  }

  private report(path: (string | number)[], problem: string): null {
    const name = nameOf(path);
    // Of a body with many faults the first ones say enough.
    if (this.issues.length < maxCalls) this.issues.push(issueOf(path, `${name === '' ? 'The body' : name} ${problem}`));
    return null;
  }
}

const known: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'method', 'params']);

/** A key that is equal for equal ids; null for a value that is no id. */
export function keyOfId(id: Buffer): string | null {
  const text = id.toString('utf8');
  if (text === 'null' || wholeNumber.test(text)) return text;
  if (!text.startsWith('"')) return null;
  try {
    return `"${JSON.parse(text) as string}`;
  } catch {
    return null;
  }
}

function shorten(name: string): string {
  return name.slice(0, 64).toWellFormed();
}

function nameOf(path: (string | number)[]): string {
  return path.reduce<string>(
    (text, part) => (typeof part === 'number' ? `[${part}]` : text === '' ? part : `${text}.${part}`),
    '',
  );
}

function issueOf(path: (string | number)[], message: string, code = 'invalid_value'): ErrorIssue {
  return { code, path, message };
}

function invalid(issues: ErrorIssue[]): PlatformError {
  const message = issues.map((issue) => issue.message.replace(/\.$/, '')).join('; ');
  return new PlatformError('INVALID_REQUEST', `${message}.`, nameOf(issues[0]?.path ?? []) || null, { issues });
}

function unsupported({ name }: RpcNetwork, issues: ErrorIssue[]): PlatformError {
  const list = issues.map(({ message, path }) => (path.length > 1 ? `[${path[0]}] ${message}` : message)).join('; ');
  const param = nameOf(issues[0]?.path ?? []) || null;
  return new PlatformError('INVALID_REQUEST', `Unsupported RPC methods on ${name}: ${list}.`, param, { issues });
}
