import { cp, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

const fixtures = join(import.meta.dirname, '../../libs/model-store/src/convert/safetensors/__fixtures__');
const shared = 'tokenizer';

/** A prompt and what the reference implementation computes for it (`tools/reference/tiny_checkpoints.py`). */
export interface ExpectedText {
  prompt: string;
  ids: number[];
  /** Of the first steps. */
  logits: Float32Array[];
  greedy: number[];
  /** Of the conversion, where the results depend on it. */
  contextLength?: number;
  text: string;
}

/** Names of the tiny decoders in the layout of the model hubs. */
export async function tinyDecoderNames(): Promise<string[]> {
  return (await readdir(fixtures)).filter((name) => name !== shared).sort();
}

/** Copies the files of a decoder into an existing folder, as its authors would publish them. */
export async function copyTinyDecoder(name: string, folder: string): Promise<void> {
  for (const part of [name, shared]) await cp(join(fixtures, part), folder, { recursive: true });
}

export async function expectedTexts(name: string): Promise<ExpectedText[]> {
  const file = JSON.parse(await readFile(join(fixtures, name, 'expected.json'), 'utf8')) as {
    results: (Omit<ExpectedText, 'logits'> & { logits: string[] })[];
  };
  return file.results.map((result) => ({ ...result, logits: result.logits.map(unpacked) }));
}

function unpacked(text: string): Float32Array {
  const bytes = new Uint8Array(Buffer.from(text, 'base64'));
  return new Float32Array(bytes.buffer);
}

/** `config.json` of a decoder, in which Python may have written infinity as a word. */
export async function tinyDecoderConfig(name: string): Promise<Record<string, unknown>> {
  const text = await readFile(join(fixtures, name, 'config.json'), 'utf8');
  return JSON.parse(text.replace(/\bInfinity\b/g, '1e999')) as Record<string, unknown>;
}
