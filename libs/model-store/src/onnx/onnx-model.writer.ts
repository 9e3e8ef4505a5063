import { open, rm, writeFile, type FileHandle } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { encodeModel, type TensorPlacement } from './graph-encoder.js';
import { initializerBytes, type OnnxGraph, type OnnxInitializer } from './onnx-types.js';
import { WriteJournal } from './write-journal.js';

export interface WriteModelOptions {
  folder: string;
  /** Path of the graph file in an existing folder; its data file has the same name with `_data` appended. */
  fileName?: string;
  /** Total bytes of weights up to which they are embedded in the graph file; default 16 MiB. */
  embedLimitBytes?: number;
  /**
   * Names everything that the weights follow from. With it, a run that was killed or aborted leaves what it wrote, and
   * the next run with the same name continues there.
   */
  resumeKey?: string;
  /** Bytes after which a run can be continued; default 256 MiB. */
  checkpointBytes?: number;
  /** Bytes of weights written so far. */
  onProgress?: (progress: { done: number; total: number }) => void;
  signal?: AbortSignal;
}

/** Protobuf limits a message to 2 GiB and readers load it whole, so only small models embed their weights. */
const defaultEmbedLimitBytes = 16 * 1024 * 1024;

/** Small tensors (shapes, scalars, norms) are always in the graph, because loaders fold them. */
const smallTensorBytes = 1024;

const defaultCheckpointBytes = 256 * 1024 * 1024;

/** Page size, because readers map the data file into memory. */
const dataAlignment = 4096;

/**
 * Writes a model: the graph file, and for large weights a data file that is streamed. Memory is bounded by the pieces
 * of the tensors' contents. Returns the names of the files. Removes them on failure.
 */
export async function writeOnnxModel(graph: OnnxGraph, options: WriteModelOptions): Promise<string[]> {
  const fileName = options.fileName ?? 'model.onnx';
  const dataFile = `${fileName}_data`;
  const total = graph.initializers.reduce((sum, initializer) => sum + initializerBytes(initializer), 0);
  const external = total > (options.embedLimitBytes ?? defaultEmbedLimitBytes);
  const progress = new WriteProgress(total, options);
  const path = join(options.folder, dataFile);
  const journal = options.resumeKey === undefined ? null : new WriteJournal(path, graph, options.resumeKey);
  try {
    const placements = external
      ? await writeExternal(graph, { path, journal, checkpointBytes: options.checkpointBytes }, progress)
      : await collectEmbedded(graph.initializers, progress);
    await writeFile(join(options.folder, fileName), encodeModel(graph, placements));
    await journal?.remove();
    progress.report();
    return external ? [fileName, dataFile] : [fileName];
  } catch (error) {
    await rm(join(options.folder, fileName), { force: true });
    const isContinued = journal !== null && options.signal?.aborted === true;
    if (!isContinued) await Promise.all([rm(path, { force: true }), journal?.remove()]);
    throw error;
  }
}

/** Counts and reports bytes, and yields to the event loop between pieces so that an abort is noticed. */
class WriteProgress {
  private done = 0;

  constructor(
    private readonly total: number,
    private readonly options: Pick<WriteModelOptions, 'onProgress' | 'signal'>,
  ) {}

  /** Counts small tensors without a report, because there are hundreds. */
  count(bytes: number): void {
    this.done += bytes;
  }

  report(): void {
    this.options.onProgress?.({ done: this.done, total: this.total });
  }

  async advance(bytes: number): Promise<void> {
    this.count(bytes);
    this.report();
    await new Promise((resolve) => setImmediate(resolve));
    this.options.signal?.throwIfAborted();
  }
}

type Placements = Map<OnnxInitializer, TensorPlacement>;

async function collectEmbedded(initializers: OnnxInitializer[], progress: WriteProgress): Promise<Placements> {
  const placements: Placements = new Map();
  for (const initializer of initializers) {
    const bytes = await collect(initializer);
    placements.set(initializer, { kind: 'embedded', bytes });
    if (bytes.length > smallTensorBytes) await progress.advance(bytes.length);
    else progress.count(bytes.length);
  }
  return placements;
}

interface DataFile {
  path: string;
  journal: WriteJournal | null;
  checkpointBytes?: number;
}

async function writeExternal(
  graph: OnnxGraph,
  { path, journal, checkpointBytes = defaultCheckpointBytes }: DataFile,
  progress: WriteProgress,
): Promise<Placements> {
  const { initializers } = graph;
  const earlier = (await journal?.read()) ?? null;
  if (earlier === null) await journal?.remove();
  const written = earlier ?? { tensors: 0, end: 0 };
  const placements: Placements = new Map();
  const handle = await open(path, written.end > 0 ? 'r+' : 'w');
  try {
    await handle.truncate(written.end);
    let end = 0;
    let safeEnd = written.end;
    // Contents are requested strictly in graph order: a quantised weight's scales result from its codes.
    for (const [index, initializer] of initializers.entries()) {
      if (isSmall(initializer)) {
        const before = index < written.tensors && initializer.continues ? initializers[index - 1] : undefined;
        placements.set(initializer, { kind: 'embedded', bytes: await collect(initializer, before) });
        progress.count(initializerBytes(initializer));
        continue;
      }
      const offset = Math.ceil(end / dataAlignment) * dataAlignment;
      const length = initializerBytes(initializer);
      placements.set(initializer, { kind: 'external', file: basename(path), offset, length });
      end = offset + length;
      if (index < written.tensors) {
        progress.count(length);
        continue;
      }
      await writeTensor(handle, offset, initializer, progress);
      if (journal && end - safeEnd >= checkpointBytes && !initializers[index + 1]?.continues) {
        await handle.datasync();
        await journal.write({ tensors: index + 1, end });
        safeEnd = end;
      }
    }
    await handle.sync();
  } finally {
    await handle.close();
  }
  return placements;
}

function isSmall(initializer: OnnxInitializer): boolean {
  return initializerBytes(initializer) <= smallTensorBytes;
}

async function writeTensor(
  handle: FileHandle,
  offset: number,
  initializer: OnnxInitializer,
  progress: WriteProgress,
): Promise<void> {
  let length = 0;
  for await (const piece of piecesOf(initializer)) {
    await writeFully(handle, piece, offset + length);
    length += piece.length;
    await progress.advance(piece.length);
  }
  checkLength(initializer, length);
}

/**
 * Writes all bytes. `FileHandle.write` may write less than requested, for instance when the disk fills up; the next
 * call then fails.
 */
async function writeFully(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  let written = 0;
  while (written < bytes.length) {
    const result = await handle.write(bytes, written, bytes.length - written, position + written);
    written += result.bytesWritten;
  }
}

/** `before` is an initializer that this one results from and that is written already. */
async function collect(initializer: OnnxInitializer, before?: OnnxInitializer): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const _ of before ? piecesOf(before) : []) continue;
  for await (const piece of piecesOf(initializer)) pieces.push(piece);
  const bytes = pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces);
  checkLength(initializer, bytes.length);
  return bytes;
}

async function* piecesOf(initializer: OnnxInitializer): AsyncGenerator<Uint8Array> {
  const content = initializer.content();
  if (content instanceof Uint8Array) yield content;
  else yield* content;
}

function checkLength(initializer: OnnxInitializer, length: number): void {
  const expected = initializerBytes(initializer);
  if (length !== expected) {
    throw new Error(`The tensor ${initializer.name} should have ${expected} bytes but its content has ${length}.`);
  }
}
