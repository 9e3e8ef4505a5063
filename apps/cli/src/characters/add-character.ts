import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import type { CardOptions, CharacterDefinition } from '#characters';
import { PlatformError } from '#common';
import type { CliContext } from '../cli-context.js';

interface AddOptions {
  replace?: boolean;
  json?: boolean;
}

/** Longest file that is read, in bytes; the readers of the formats have tighter limits. */
const maxFileBytes = 64 * 1_048_576;

/** Adds a character from its YAML file. */
export async function addCharacter(context: CliContext, file: string, options: AddOptions): Promise<void> {
  const { parseCharacterFile } = await import('#characters');
  const bytes = await readBounded(file);
  await save(context, parseCharacterFile(bytes.toString('utf8'), basename(file)), options);
}

/** Adds a character from a card of another program. */
export async function importCharacter(
  context: CliContext,
  file: string,
  { slug, model, ...options }: AddOptions & CardOptions,
): Promise<void> {
  const { readCharacterCard } = await import('#characters');
  await save(context, readCharacterCard(await readBounded(file), basename(file), { slug, model }), options);
}

async function save(
  context: CliContext,
  definition: CharacterDefinition,
  { replace, json }: AddOptions,
): Promise<void> {
  const characters = await context.requireCharacters();
  const { slug } = definition;
  const known = (await characters.all()).some((character) => character.slug === slug);
  if (known && !replace) {
    const way = 'Add --replace to replace it, or give the new one another slug.';
    throw new PlatformError('INVALID_REQUEST', `There is a character ${slug} already. ${way}`, 'slug');
  }
  await (known ? characters.save(definition) : characters.add(definition));
  if (json) return context.output.json({ ...definition, replaced: known });
  context.output.line(`${slug}: ${known ? 'replaced' : 'added'}`);
  context.next(`sluice characters show ${slug}, or a chat with "service_parameters": {"character_slug": "${slug}"}`);
}

async function readBounded(file: string): Promise<Buffer> {
  const found = await stat(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw new PlatformError('INVALID_REQUEST', `There is no file ${file}.`);
    throw error;
  });
  if (!found.isFile()) throw new PlatformError('INVALID_REQUEST', `${file} is not a file.`);
  if (found.size > maxFileBytes) throw new PlatformError('INVALID_REQUEST', `${file} has more than 64 MB.`);
  return await readFile(file);
}
