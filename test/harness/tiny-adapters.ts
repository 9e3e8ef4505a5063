import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { convertModel } from '#model-store';
import { copyTinyDecoder } from './tiny-decoders.js';
import { minimaGguf } from './tiny-models/quantized-gguf.js';

const decoders = join(import.meta.dirname, '../../libs/inference/src/families/decoder/__fixtures__');
const fixtures = join(decoders, 'adapters');

/** What the reference implementation computes for a prompt (`tools/reference/tiny_adapters.py`). */
export interface AdapterText {
  promptIds: number[];
  tokens: number[];
  /** Logits after the prompt, and after the last token. */
  first: number[];
  last: number[];
}

/** Folder of a LoRA adapter of a tiny decoder, as PEFT saved it. */
export function tinyAdapterFolder(base: string, adapter: string): string {
  return join(fixtures, base, adapter);
}

/** Copies an adapter into an existing folder. */
export async function copyTinyAdapter(base: string, adapter: string, folder: string): Promise<void> {
  await cp(tinyAdapterFolder(base, adapter), folder, { recursive: true });
}

/** Texts by adapter, and of the base alone under `base`. */
export async function expectedAdapterTexts(base: string): Promise<Record<string, AdapterText[]>> {
  const file = JSON.parse(await readFile(join(fixtures, base, 'expected.json'), 'utf8')) as Record<string, unknown>;
  const { madeWith: _, ...texts } = file;
  return texts as Record<string, AdapterText[]>;
}

/** A converted base and its converted adapters. */
export interface ConvertedAdapters {
  /** Folder of the base, whose graph is `model.onnx`. */
  directory: string;
  adapters: { modelId: string; directory: string }[];
  /** Results of the reference by adapter, and of the base alone. */
  known: Record<string, AdapterText[]>;
}

/** Converts a base and its adapters into new folders of `folder`; weights `stored`: blocks of 4 bits with minima. */
export async function convertAdapters(folder: string, base: string, weights?: string): Promise<ConvertedAdapters> {
  const name = `${base}-${weights ?? 'own'}`;
  const folderOf = async (part: string): Promise<string> => {
    const path = join(folder, `${name}-${part}`);
    await mkdir(path);
    return path;
  };
  const [inputFolder, directory] = [await folderOf('source'), await folderOf('base')];
  const isGguf = base.endsWith('-gguf');
  if (isGguf) {
    const file = `${base.replace('-gguf', '')}.gguf`;
    const content = await readFile(join(decoders, 'architectures', file));
    await writeFile(join(inputFolder, file), weights === 'stored' ? minimaGguf(content) : content);
  } else await copyTinyDecoder(base, inputFolder);
  const options: Record<string, string> = weights === undefined ? {} : { weights };
  await convertModel({ kind: isGguf ? 'gguf' : 'safetensors', options, inputFolder, outputFolder: directory });
  const known = await expectedAdapterTexts(base);
  const adapters = [];
  for (const adapter of Object.keys(known).filter((each) => each !== 'base')) {
    const outputFolder = await folderOf(adapter);
    const source = tinyAdapterFolder(base, adapter);
    await convertModel({ kind: 'lora', options: {}, inputFolder: source, outputFolder, baseFolder: directory });
    adapters.push({ modelId: adapter, directory: outputFolder });
  }
  return { directory, adapters, known };
}

type Entries = Record<string, { dtype: string; shape: number[]; data_offsets: [number, number] }>;

/** Changes the list of tensors of a safetensors file; the data stays. */
export async function editTensorList(path: string, edit: (entries: Entries) => void): Promise<void> {
  const file = await readFile(path);
  const length = Number(file.readBigUInt64LE(0));
  const entries = JSON.parse(file.subarray(8, 8 + length).toString('utf8')) as Entries;
  edit(entries);
  const list = Buffer.from(JSON.stringify(entries));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(list.length));
  await writeFile(path, Buffer.concat([size, list, file.subarray(8 + length)]));
}
