import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { create } from 'tar';
import { draftManifest, pullModels, silentReporter } from '#model-store';
import { exampleManifest } from '#test/example-manifest';
import { pdfFile } from '#test/pdf-file';
import { sourcePath } from '#test/source-program';
import { tinyAdapterFolder } from '#test/tiny-adapters';
import { tinyBertFolder } from '#test/tiny-encoder';
import { copyTinyDecoder } from '#test/tiny-decoders';
import { ggufFile } from '#test/tiny-models/source-formats';
import { tinyDecoder } from '#test/tiny-models/tiny-shapes';
import { docxFile, pptxFile, zipFile } from '#test/zip-file';
import { corpusFolders, type Format, formats, loraBase } from './formats.js';
import { writeTinyOnnx } from './tiny-onnx.js';

const run = promisify(execFile);
const documents = 'libs/documents/src/extractor/../__fixtures__';

/** Valid files of every format, made on first use in a folder that `remove` deletes. */
export class Corpus {
  private constructor(readonly folder: string) {}

  static async open(): Promise<Corpus> {
    return new Corpus(await mkdtemp(join(tmpdir(), 'sluice-corpus-')));
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }

  async file(format: Format): Promise<Buffer> {
    const { maker } = formats[format];
    if (maker !== null) return await this.withFfmpeg(format, maker);
    const make = makers[format];
    if (make === undefined) throw new Error(`nothing makes ${format} files`);
    return await make(this.folder);
  }

  private async withFfmpeg(name: string, args: readonly string[]): Promise<Buffer> {
    const path = join(this.folder, name);
    await run('ffmpeg', ['-hide_banner', '-loglevel', 'error', '-y', ...args, path]);
    return await readFile(path);
  }
}

const page = '<w:p><w:r><w:t>one</w:t></w:r></w:p><w:tbl><w:tr><w:tc/></w:tr></w:tbl>';

/** Files that ffmpeg does not make. The folder is for files on the way. */
const makers: Partial<Record<Format, (folder: string) => Buffer | Promise<Buffer>>> = {
  pdf: () => pdfFile(['one', 'two', 'three']),
  docx: () => docxFile(page),
  pptx: () => pptxFile(['<p:sld><a:p><a:t>one</a:t></a:p></p:sld>'], '<p:notes/>'),
  xlsx: () => readFile(sourcePath(`${documents}/sheet.xlsx`)),
  xls: () => readFile(sourcePath(`${documents}/sheet.xls`)),
  epub: () =>
    zipFile([
      { name: 'META-INF/container.xml', content: '<c><rootfile full-path="o.opf"/></c>', stored: true },
      { name: 'o.opf', content: '<p><item id="a" href="a.xhtml"/><itemref idref="a"/></p>', stored: true },
      { name: 'a.xhtml', content: '<h1>One</h1><table><tr><td>x</td></tr></table>', stored: true },
    ]),
  csv: () => Buffer.from('größer,"日本",1\n'.repeat(20)),
  gguf: () => ggufFile(tinyDecoder('llama', 1)),
  safetensors: () => readFile(join(fileURLToPath(tinyBertFolder), 'model.safetensors')),
  onnx: (folder: string) => writeTinyOnnx(folder),
  'hub-weights': (folder) => decoderFile(folder, 'decoder', 'model.safetensors'),
  'hub-config': (folder) => decoderFile(folder, 'decoder', 'config.json'),
  'hub-index': (folder) => decoderFile(folder, 'shards', 'model.safetensors.index.json'),
  'hub-tokenizer': (folder) => decoderFile(folder, 'decoder', 'tokenizer.json'),
  'hub-tokenizer-config': (folder) => decoderFile(folder, 'decoder', 'tokenizer_config.json'),
  'hub-template': (folder) => decoderFile(folder, 'decoder', 'chat_template.jinja'),
  'lora-weights': (folder) => loraFile(folder, 'adapter_model.safetensors'),
  'lora-settings': (folder) => loraFile(folder, 'adapter_config.json'),
  tar: (folder: string) => tarFile(folder),
  tgz: async (folder: string) => gzipSync(await tarFile(folder)),
  yaml: () =>
    Buffer.from(JSON.stringify(exampleManifest(), null, 2).replaceAll(/[",]/g, (mark) => (mark === '"' ? "'" : ','))),
  json: () =>
    Buffer.from(JSON.stringify({ model: 'x', messages: [{ role: 'user', content: 'größer \u{1f600} \\u0001' }] })),
};

/** Decoders in the layout of the hubs: one with its weights in one file, one with shards. */
const decoders = { decoder: 'qwen3', shards: 'llama' } as const;

async function decoderFile(folder: string, kind: keyof typeof decoders, name: string): Promise<Buffer> {
  const source = join(folder, corpusFolders[kind]);
  if (!existsSync(source)) {
    await mkdir(source);
    await copyTinyDecoder(decoders[kind], source);
  }
  return await readFile(join(source, name));
}

/** A file of an adapter; its base is installed in the home of the corpus. */
async function loraFile(folder: string, name: string): Promise<Buffer> {
  const home = join(folder, corpusFolders.home);
  if (!existsSync(home)) {
    await decoderFile(folder, 'shards', 'config.json');
    const { manifest } = await draftManifest(`file:${join(folder, corpusFolders.shards)}`, {}, { id: loraBase });
    await pullModels({ home, manifests: [manifest], reporter: silentReporter });
  }
  return await readFile(join(tinyAdapterFolder('llama', 'all'), name));
}

async function tarFile(folder: string): Promise<Buffer> {
  const content = join(folder, 'package', 'weights.bin');
  await mkdir(dirname(content), { recursive: true });
  await writeFile(content, Buffer.alloc(20_000, 'weights'));
  await cp(content, join(folder, 'package', 'other.bin'));
  const file = join(folder, 'package.tar');
  await create({ cwd: folder, file }, ['package/weights.bin', 'package/other.bin']);
  return await readFile(file);
}
