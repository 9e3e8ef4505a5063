import { createRequire } from 'node:module';
import type * as Yaml from 'yaml';
import { PlatformError } from '#common';
import { findIssues, ruleNamesOf } from '#platform/validation';
import { type CharacterDefinition, defaultModel } from '../character.js';
import { CharacterSchema } from './character.schema.js';

const load = createRequire(import.meta.url);

/** Longest file of a character, in bytes. */
export const maxFileBytes = 1_048_576;

/** Reads the YAML (or JSON) file of a character. `file` is named in the error, with the field. */
export function parseCharacterFile(text: string, file: string): CharacterDefinition {
  if (Buffer.byteLength(text) > maxFileBytes) throw fileFault(file, 'must have at most 1 MB');
  // Loaded on first use: the api reads no files.
  const { parseDocument } = load('yaml') as typeof Yaml;
  const document = parseDocument(text, { prettyErrors: true });
  const [syntaxError] = document.errors;
  if (syntaxError) throw fileFault(file, syntaxError.message.split('\n', 1)[0] ?? '');
  return readCharacter(plainValue(document, file), file);
}

/** Aliases that refer to each other many times make a document that fits in no memory. */
function plainValue(document: Yaml.Document, file: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 20 });
  } catch (error) {
    throw fileFault(file, error instanceof Error ? error.message : 'cannot be read');
  }
}

/** Checks an already parsed file. Throws `INVALID_REQUEST` naming the file and every wrong field. */
export function readCharacter(value: unknown, file: string): CharacterDefinition {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw fileFault(file, 'must be a mapping of fields');
  }
  const known = ruleNamesOf(CharacterSchema);
  const unknown = Object.keys(value).find((name) => !known.has(name));
  if (unknown !== undefined) throw fileFault(file, `${unknown.slice(0, 80)} is not a field of a character`, unknown);
  const issues = findIssues(CharacterSchema, value);
  const [first] = issues;
  if (first !== undefined) throw fileFault(file, issues.map(({ message }) => message).join('; '), first.path.join('.'));
  return definitionOf(value as CharacterSchema);
}

function definitionOf(fields: CharacterSchema): CharacterDefinition {
  return {
    slug: fields.slug,
    name: fields.name.trim(),
    description: trimmed(fields.description),
    systemPrompt: fields.systemPrompt.trim(),
    greeting: trimmed(fields.greeting),
    modelId: fields.model ?? defaultModel,
    tags: [...new Set((fields.tags ?? []).map((tag) => tag.trim()).filter((tag) => tag !== ''))],
    author: trimmed(fields.author) ?? 'unknown',
    adult: fields.adult ?? false,
    featured: fields.featured ?? false,
    webEnabled: fields.webAccess ?? false,
    photoUrl: fields.photoUrl ?? null,
    shareUrl: fields.shareUrl ?? null,
  };
}

function trimmed(text: string | null | undefined): string | null {
  return text?.trim() || null;
}

/** Returns the YAML file of a character, which `parseCharacterFile` reads back. */
export function formatCharacterFile(character: CharacterDefinition): string {
  const { stringify } = load('yaml') as typeof Yaml;
  return stringify(characterFields(character));
}

/** Returns the fields of a character's file. */
export function characterFields(character: CharacterDefinition): object {
  const { modelId, webEnabled, ...others } = character;
  const { slug, name, description, systemPrompt, greeting, tags, author, adult, featured, photoUrl, shareUrl } = others;
  const fields = {
    ...{ slug, name, description, author, tags, model: modelId, adult, featured, webAccess: webEnabled },
    ...{ photoUrl, shareUrl, greeting, systemPrompt },
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

/** An error that names the file, and the field if it is known. */
export function fileFault(file: string, problem: string, field: string | null = null): PlatformError {
  return new PlatformError('INVALID_REQUEST', `${file}: ${problem}.`, field);
}
