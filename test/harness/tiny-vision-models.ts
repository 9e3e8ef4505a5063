import { readdirSync } from 'node:fs';
import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';

const fixtures = join(
  import.meta.dirname,
  '../../libs/inference/src/families/vision-language/__fixtures__/checkpoints',
);

/** Names of the tiny models that read images, in the layout of the model hubs. */
export const tinyVisionNames = foldersIn(fixtures);

/** Names of those that are there as GGUF files too. */
export const tinyVisionGgufNames = foldersIn(join(fixtures, '../gguf'));

function foldersIn(folder: string): string[] {
  const entries = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return entries.map(({ name }) => name).sort();
}

/** The folder of a model; its files must not be changed. */
export function tinyVisionFolder(name: string): string {
  return join(fixtures, name);
}

/** The folder of the same model as two GGUF files, of the decoder and of the part that sees. */
export function tinyVisionGgufFolder(name: string): string {
  return join(fixtures, '../gguf', name);
}

/** Copies the files of a model, as its authors would publish them. */
export async function copyTinyVision(name: string, folder: string): Promise<void> {
  await cp(join(fixtures, name), folder, { recursive: true });
}

/** `config.json` of a model. */
export async function tinyVisionConfig(name: string): Promise<Record<string, unknown>> {
  return JSON.parse(await readFile(join(fixtures, name, 'config.json'), 'utf8')) as Record<string, unknown>;
}
