import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';

/** Tokens of texts by the tokenizer of an installed model. Of a .json file it is the member `text`. */
export async function tokenize(folder: string, texts: string[]): Promise<Int32Array> {
  const readJson = async (name: string) => JSON.parse(await readFile(join(folder, name), 'utf8')) as object;
  const tokenizer = new Tokenizer(await readJson('tokenizer.json'), await readJson('tokenizer_config.json'));
  const parts = await Promise.all(
    texts.map(async (path) => {
      const content = await readFile(path, 'utf8');
      return path.endsWith('.json') ? (JSON.parse(content) as { text: string }).text : content;
    }),
  );
  return Int32Array.from(tokenizer.encode(parts.join('\n\n')).ids);
}

/** Mean difference with the standard error of paired samples. */
export function difference(losses: Float64Array, reference: Float64Array): string {
  const differences = losses.map((loss, index) => loss - (reference[index] ?? NaN));
  const average = mean(differences);
  const variance = mean(differences.map((value) => (value - average) ** 2));
  return `${average >= 0 ? '+' : ''}${average.toFixed(4)} ± ${Math.sqrt(variance / differences.length).toFixed(4)}`;
}

export function mean(values: Float64Array): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
