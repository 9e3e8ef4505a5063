import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DocumentExtractor } from '#documents';
import { decodeImage, decodeWholeAudio, MediaTools, probeAudio, probeVideo, readFrames } from '#media';
import { parseManifest } from '#model-registry/manifest';
import { convertModel } from '#model-store';
import { parseJsonBody } from '#platform/json';
import { compileProgram, runSourceArguments, sourcePath } from '#test/source-program';
import { tinyBertFolder } from '#test/tiny-encoder';
import { type Format, formats, type ReaderKind } from './formats.js';

const extractorPath = sourcePath('libs/documents/src/extractor/extract.main.ts');
const timeoutMs = 10_000;

const tools = MediaTools.find();
/** Compiled before the sandbox forbids its program to write files. */
let compiled: Promise<void> | null = null;
const extractor = new DocumentExtractor({ program: { modulePath: extractorPath, nodeArguments: runSourceArguments } });

/** Reads one file as the platform does. Rejects with the error that a caller gets. */
export async function readFile(format: Format, bytes: Buffer): Promise<void> {
  await readers[formats[format].reader](bytes, format);
}

const readers: Record<ReaderKind, (bytes: Buffer, format: Format) => Promise<unknown>> = {
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
  archive: (bytes) => inFolder((folder) => unpack(folder, bytes)),
  manifest: (bytes) => Promise.resolve().then(() => parseManifest(bytes.toString('utf8'), 'mutated.yaml')),
  body: (bytes) => Promise.resolve().then(() => parseJsonBody(bytes)),
};

const converters: Partial<Record<Format, { kind: 'gguf' | 'bert' | 'onnx'; name: string }>> = {
  gguf: { kind: 'gguf', name: 'model.gguf' },
  safetensors: { kind: 'bert', name: 'model.safetensors' },
  onnx: { kind: 'onnx', name: 'half.onnx' },
};

async function convert(folder: string, format: Format, bytes: Buffer): Promise<void> {
  const converter = converters[format];
  if (converter === undefined) throw new Error(`there is no converter of ${format}`);
  const [inputFolder, outputFolder] = [join(folder, 'in'), join(folder, 'out')];
  await Promise.all([mkdir(inputFolder), mkdir(outputFolder)]);
  if (format === 'safetensors') await cp(tinyBertFolder, inputFolder, { recursive: true });
  await writeFile(join(inputFolder, converter.name), bytes);
  const options: Record<string, string> = converter.kind === 'bert' ? {} : { weights: 'float32' };
  await convertModel({ kind: converter.kind, options, inputFolder, outputFolder });
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
