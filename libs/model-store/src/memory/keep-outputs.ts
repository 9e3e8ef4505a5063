import { InputFile } from '../convert/input-file.js';
import { encodeVarint, type RandomAccess, readFields, type WireField } from '../onnx/index.js';

interface Range {
  start: number;
  end: number;
}

const modelFields = { graph: 7 } as const;
const graphFields = { output: 12 } as const;
const valueFields = { name: 1 } as const;
/** Protobuf's key of the graph: its number, and the wire type of a message. */
const graphKey = (modelFields.graph << 3) | 2;

/** A graph may hold its weights; they are copied in pieces of this size. */
const pieceBytes = 4 * 2 ** 20;

/**
 * Returns a graph without outputs that nobody fetches; null if it has no others. The runtime computes and keeps every
 * output until the run ends. Encoders that were exported with their attention take several times as much memory by it,
 * and half as much time again. Throws `RangeError` for another file.
 */
export async function keepOutputs(
  { folder, graphFile }: { folder: string; graphFile: string },
  wanted: readonly string[],
): Promise<Uint8Array | null> {
  const file = await InputFile.open(folder, graphFile);
  try {
    const graph = await findGraph(file);
    const body = { start: graph.field.start, end: graph.field.start + graph.field.length };
    const dropped = await unwantedOutputs(file, body, new Set(wanted));
    return dropped.length === 0 ? null : await withoutRanges(file, { ...graph, body, dropped });
  } finally {
    await file.close();
  }
}

/** The graph of a model, and where its key begins. */
async function findGraph(file: RandomAccess): Promise<{ field: WireField; keyStart: number }> {
  let keyStart = 0;
  for await (const field of readFields(file)) {
    if (field.number === modelFields.graph) return { field, keyStart };
    keyStart = field.start + field.length;
  }
  throw new RangeError('it holds no graph');
}

async function unwantedOutputs(file: RandomAccess, body: Range, wanted: ReadonlySet<string>): Promise<Range[]> {
  const dropped: Range[] = [];
  let start = body.start;
  for await (const field of readFields(file, body.start, body.end)) {
    const end = field.start + field.length;
    if (field.number === graphFields.output && !wanted.has(await nameOf(file, field))) dropped.push({ start, end });
    start = end;
  }
  return dropped;
}

async function nameOf(file: RandomAccess, value: WireField): Promise<string> {
  for await (const field of readFields(file, value.start, value.start + value.length)) {
    if (field.number !== valueFields.name) continue;
    return Buffer.from(await file.read(field.start, field.length)).toString('utf8');
  }
  return '';
}

async function withoutRanges(
  file: RandomAccess,
  { keyStart, body, dropped }: { keyStart: number; body: Range; dropped: Range[] },
): Promise<Uint8Array> {
  const length = dropped.reduce((rest, { start, end }) => rest - (end - start), body.end - body.start);
  const head = Uint8Array.of(graphKey, ...encodeVarint(length));
  const result = new Uint8Array(keyStart + head.length + length + (file.bytes - body.end));
  let position = await copy(file, { start: 0, end: keyStart }, result, 0);
  result.set(head, position);
  position += head.length;
  let start = body.start;
  for (const range of dropped) {
    position = await copy(file, { start, end: range.start }, result, position);
    start = range.end;
  }
  await copy(file, { start, end: file.bytes }, result, position);
  return result;
}

/** Returns the position after what was copied. */
async function copy(file: RandomAccess, { start, end }: Range, target: Uint8Array, position: number): Promise<number> {
  for (let from = start; from < end; from += pieceBytes) {
    target.set(await file.read(from, Math.min(pieceBytes, end - from)), position + from - start);
  }
  return position + end - start;
}
