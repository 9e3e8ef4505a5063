import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { DocumentExtractor } from '#documents';
import { decodeImage, decodeWholeAudio, MediaTools, probeAudio, probeVideo, readFrames } from '#media';
import { parseManifest } from '#model-registry/manifest';
import { convertModel } from '#model-store';
import { addAdapters } from '#model-store/adapter';
import { parseJsonBody } from '#platform/json';
import { compileProgram, runSourceArguments, sourcePath } from '#test/source-program';
import { tinyAdapterFolder } from '#test/tiny-adapters';
import { tinyBertFolder } from '#test/tiny-encoder';
import { type Format, formats, loraBase, type ReaderKind } from './formats.js';

const extractorPath = sourcePath('libs/documents/src/extractor/extract.main.ts');
const timeoutMs = 10_000;

const tools = MediaTools.find();
/** Compiled before the sandbox forbids its program to write files. */
let compiled: Promise<void> | null = null;
const extractor = new DocumentExtractor({ program: { modulePath: extractorPath, nodeArguments: runSourceArguments } });

/** Reads one file as the platform does; `corpus` is the folder with what it needs beside it. Rejects with the error that a caller gets. */
export async function readFile(format: Format, bytes: Buffer, corpus: string): Promise<void> {
  await readers[formats[format].reader](bytes, format, corpus);
}

const readers: Record<ReaderKind, (bytes: Buffer, format: Format, corpus: string) => Promise<unknown>> = {
  image: (bytes) => decodeImage(bytes, { channels: 3, maxPixels: 4_000_000 }),
  audio: async (bytes) => {
    const found = await tools;
    await probeAudio(found, bytes, { maxSeconds: 60 });
    await decodeWholeAudio(found, bytes, { sampleRate: 16_000, maxSeconds: 60, timeoutMs });
  },
  video: async (bytes) => {
    const found = await tools;
    await probeVideo(found, bytes, { maxSeconds: 60 });
    for await (const frame of readFrames(found, bytes, { limits: { maxSeconds: 60 }, timeoutMs })) void frame;
  },
  document: async (bytes) => {
    await (compiled ??= compileProgram(extractorPath));
    await extractor.extract({ bytes, owner: 'account', param: 'file' });
  },
  model: (bytes, format, corpus) => inFolder((folder) => convert(folder, { format, bytes, corpus })),
  archive: (bytes) => inFolder((folder) => unpack(folder, bytes)),
  manifest: (bytes) => Promise.resolve().then(() => parseManifest(bytes.toString('utf8'), 'mutated.yaml')),
  body: (bytes) => Promise.resolve().then(() => parseJsonBody(bytes)),
};

interface ModelFile {
  format: Format;
  bytes: Buffer;
  corpus: string;
}

const converters: Partial<Record<Format, { kind: 'gguf' | 'bert' | 'onnx' | 'lora'; name: string }>> = {
  gguf: { kind: 'gguf', name: 'model.gguf' },
  safetensors: { kind: 'bert', name: 'model.safetensors' },
  onnx: { kind: 'onnx', name: 'half.onnx' },
  'lora-weights': { kind: 'lora', name: 'adapter_model.safetensors' },
  'lora-settings': { kind: 'lora', name: 'adapter_config.json' },
};
/** Files beside the mutated one. */
const besides = { bert: fileURLToPath(tinyBertFolder), lora: tinyAdapterFolder('llama', 'all') };

async function convert(folder: string, { format, bytes, corpus }: ModelFile): Promise<void> {
  const converter = converters[format];
  if (converter === undefined) throw new Error(`there is no converter of ${format}`);
  const [inputFolder, outputFolder] = [join(folder, 'in'), join(folder, 'out')];
  await Promise.all([mkdir(inputFolder), mkdir(outputFolder)]);
  const { kind, name } = converter;
  if (kind === 'bert' || kind === 'lora') await cp(besides[kind], inputFolder, { recursive: true });
  await writeFile(join(inputFolder, name), bytes);
  if (kind === 'lora') return await addLora({ inputFolder, outputFolder, baseFolder: join(corpus, loraBase) });
  await convertModel({ kind, options: kind === 'bert' ? {} : { weights: 'float32' }, inputFolder, outputFolder });
}

/** Installs an adapter, and adds it to the graph of its base as a host does. */
async function addLora(folders: { inputFolder: string; outputFolder: string; baseFolder: string }): Promise<void> {
  await convertModel({ kind: 'lora', options: {}, ...folders });
  const base = { directory: folders.baseFolder, graphFile: 'model.onnx' };
  const { refused } = await addAdapters(base, [{ modelId: 'mutated', directory: folders.outputFolder }]);
  if (refused.length > 0) throw new Error(`an adapter was installed that its base refuses: ${refused[0]?.reason}`);
}

interface Unpacking {
  extractFiles(request: object): Promise<void>;
}

async function unpack(into: string, bytes: Buffer): Promise<void> {
  const source = (name: string): string => pathToFileURL(sourcePath(`libs/model-store/src/source/${name}`)).href;
  const { extractFiles } = (await import(source('npm-tarball.ts'))) as Unpacking;
  const { openDiskWriter } = (await import(source('file-writer.ts'))) as { openDiskWriter: unknown };
  const files = ['weights.bin', 'other.bin'].map((path) => ({ path }));
  const tarball = [new Uint8Array(bytes)];
  await extractFiles({ tarball, files, into, openWriter: openDiskWriter, onBytes: () => undefined });
}

async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-mutated-'));
  try {
    await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 10 });
  }
}
