import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const fixtures = join(import.meta.dirname, '../../libs/inference/src/families/decoder/__fixtures__/adapters');

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
