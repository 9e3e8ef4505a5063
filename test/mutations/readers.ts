import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { DocumentExtractor } from '#documents';
import { decodeImage, decodeWholeAudio, MediaTools, probeAudio, probeVideo, readFrames } from '#media';
import { parseManifest } from '#model-registry/manifest';
import { convertModel } from '#model-store';
import { parseJsonBody } from '#platform/json';
import { compileProgram, runSourceArguments, sourcePath } from '#test/source-program';
import { tinyAdapterFolder } from '#test/tiny-adapters';
import { tinyBertFolder } from '#test/tiny-encoder';
import { addModel } from './added-model.js';
import { corpusFolders, type Format, formats, loraBase, type ReaderKind } from './formats.js';

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
  model: (bytes, format) => inFolder((folder) => convert(folder, format, bytes)),
  added: (bytes, format, corpus) => inFolder((folder) => add(folder, { format, bytes, corpus })),
  archive: (bytes) => inFolder((folder) => unpack(folder, bytes)),
  manifest: (bytes) => Promise.resolve().then(() => parseManifest(bytes.toString('utf8'), 'mutated.yaml')),
  body: (bytes) => Promise.resolve().then(() => parseJsonBody(bytes)),
};

interface ModelFile {
  format: Format;
  bytes: Buffer;
  corpus: string;
}

interface AddedAs {
  name: string;
  /** Folder with its other files. */
  beside: (corpus: string) => string | null;
  isAdapter?: boolean;
}

const decoder = (corpus: string): string => join(corpus, corpusFolders.decoder);
const shards = (corpus: string): string => join(corpus, corpusFolders.shards);
const adapter = (): string => tinyAdapterFolder('llama', 'all');

const addedFiles: Partial<Record<Format, AddedAs>> = {
  gguf: { name: 'model.gguf', beside: () => null },
  'hub-weights': { name: 'model.safetensors', beside: decoder },
  'hub-config': { name: 'config.json', beside: decoder },
  'hub-index': { name: 'model.safetensors.index.json', beside: shards },
  'hub-tokenizer': { name: 'tokenizer.json', beside: decoder },
  'hub-tokenizer-config': { name: 'tokenizer_config.json', beside: decoder },
  'hub-template': { name: 'chat_template.jinja', beside: decoder },
  'lora-weights': { name: 'adapter_model.safetensors', beside: adapter, isAdapter: true },
  'lora-settings': { name: 'adapter_config.json', beside: adapter, isAdapter: true },
};

async function add(folder: string, { format, bytes, corpus }: ModelFile): Promise<void> {
  const file = addedFiles[format];
  if (file === undefined) throw new Error(`there is no way to add ${format}`);
  const baseFolder = join(corpus, corpusFolders.home, 'models', loraBase);
  const options = { folder, ...(file.isAdapter === true && { baseFolder }) };
  await addModel({ name: file.name, bytes, beside: file.beside(corpus) }, options);
}

const converters: Partial<Record<Format, { kind: 'bert' | 'onnx'; name: string }>> = {
  safetensors: { kind: 'bert', name: 'model.safetensors' },
  onnx: { kind: 'onnx', name: 'half.onnx' },
};

async function convert(folder: string, format: Format, bytes: Buffer): Promise<void> {
  const converter = converters[format];
  if (converter === undefined) throw new Error(`there is no converter of ${format}`);
  const [inputFolder, outputFolder] = [join(folder, 'in'), join(folder, 'out')];
  await Promise.all([mkdir(inputFolder), mkdir(outputFolder)]);
  const { kind, name } = converter;
  if (kind === 'bert') await cp(fileURLToPath(tinyBertFolder), inputFolder, { recursive: true });
  await writeFile(join(inputFolder, name), bytes);
  await convertModel({ kind, options: kind === 'bert' ? {} : { weights: 'float32' }, inputFolder, outputFolder });
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
