import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { create } from 'tar';
import { convertModel } from '#model-store';
import { exampleManifest } from '#test/example-manifest';
import { pdfFile } from '#test/pdf-file';
import { sourcePath } from '#test/source-program';
import { tinyAdapterFolder } from '#test/tiny-adapters';
import { tinyBertFolder } from '#test/tiny-encoder';
import { copyTinyDecoder } from '#test/tiny-decoders';
import { ggufFile } from '#test/tiny-models/source-formats';
import { tinyDecoder } from '#test/tiny-models/tiny-shapes';
import { docxFile, pptxFile, zipFile } from '#test/zip-file';
import { type Format, formats, loraBase } from './formats.js';
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
  'lora-weights': (folder) => loraFile(folder, 'adapter_model.safetensors'),
  'lora-settings': (folder) => loraFile(folder, 'adapter_config.json'),
  tar: (folder: string) => tarFile(folder),
  tgz: async (folder: string) => gzipSync(await tarFile(folder)),
  yaml: () =>
    Buffer.from(JSON.stringify(exampleManifest(), null, 2).replaceAll(/[",]/g, (mark) => (mark === '"' ? "'" : ','))),
  json: () =>
    Buffer.from(JSON.stringify({ model: 'x', messages: [{ role: 'user', content: 'größer \u{1f600} \\u0001' }] })),
};

/** A file of an adapter; its base is installed in the folder. */
async function loraFile(folder: string, name: string): Promise<Buffer> {
  const [inputFolder, outputFolder] = [join(folder, 'lora-base-source'), join(folder, loraBase)];
  if (!existsSync(outputFolder)) {
    await Promise.all([mkdir(inputFolder), mkdir(outputFolder)]);
    await copyTinyDecoder('llama', inputFolder);
    await convertModel({ kind: 'safetensors', options: {}, inputFolder, outputFolder });
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
