import { trimOf } from '#platform/text';
import { findIssues } from '#platform/validation';
import type { CharacterDefinition } from '../character.js';
import { fileFault, readCharacter } from '../files/character-file.js';
import { CardData, NestedCard } from './card.schema.js';
import { isPng, readPngTexts } from './png-text.js';

/** Longest card, in bytes: most of a PNG are its pixels. */
export const maxCardBytes = 32 * 1_048_576;
const specs = ['chara_card_v2', 'chara_card_v3'];
/** Tags by which cards say that they are for adults. */
const adultTags = new Set(['nsfw', 'adult', '18+', 'r18']);

/** Members of a file that a card does not have. */
export interface CardOptions {
  /** Default: made of the name. */
  slug?: string;
  model?: string;
}

/**
 * Reads a Character Card V2 or V3, as JSON or in a PNG. Throws `INVALID_REQUEST` naming the file and the field. Of a
 * book, only entries that always apply are taken.
 */
export function readCharacterCard(bytes: Buffer, file: string, options: CardOptions = {}): CharacterDefinition {
  if (bytes.length > maxCardBytes) throw fileFault(file, `must have at most ${maxCardBytes} bytes`);
  const text = isPng(bytes) ? textInPng(bytes, file) : bytes.toString('utf8');
  return readCharacter(fieldsOf(dataOf(parseJson(text, file), file), options), file);
}

/** The newer format wins where a file has both. */
function textInPng(bytes: Buffer, file: string): string {
  const texts = readPngTexts(bytes, ['ccv3', 'chara'], file);
  const encoded = texts.get('ccv3') ?? texts.get('chara');
  if (encoded === undefined) throw fileFault(file, 'the PNG holds no character: it has no chunk chara or ccv3');
  if (!isBase64(encoded)) throw fileFault(file, 'the character in the PNG is not base64');
  return Buffer.from(encoded, 'base64').toString('utf8');
}

function isBase64(text: string): boolean {
  const padding = text.indexOf('=');
  const digits = padding < 0 ? text : text.slice(0, padding);
  return !/[^A-Za-z0-9+/\s]/.test(digits) && /^={0,2}\s*$/.test(text.slice(digits.length));
}

function parseJson(text: string, file: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, '')) as unknown;
  } catch {
    throw fileFault(file, 'the character is not JSON');
  }
}

function dataOf(card: unknown, file: string): CardData {
  if (typeof card !== 'object' || card === null || Array.isArray(card)) {
    throw fileFault(file, 'the character must be a JSON object');
  }
  const { spec } = card as { spec?: unknown };
  // Cards of the first version have no `spec`, and their members at the top.
  const isFirst = spec === undefined;
  if (!isFirst && !specs.includes(spec as string)) {
    throw fileFault(file, `spec must be one of: ${specs.join(', ')}`, 'spec');
  }
  const [issue] = findIssues(isFirst ? CardData : NestedCard, card);
  if (issue !== undefined) throw fileFault(file, issue.message, issue.path.join('.'));
  return isFirst ? (card as CardData) : (card as NestedCard).data;
}

function fieldsOf(card: CardData, { slug, model }: CardOptions): object {
  const name = card.name.trim();
  const fill = (text: string | null | undefined): string => filled(text ?? '', name);
  const tags = (card.tags ?? []).map((tag) => tag.trim()).filter((tag) => tag !== '');
  return {
    slug: slug ?? slugOf(name),
    name,
    description: fill(card.creator_notes).slice(0, 10_000),
    systemPrompt: promptOf(card, fill),
    greeting: fill(card.first_mes),
    model,
    tags,
    author: card.creator?.trim() || undefined,
    adult: tags.some((tag) => adultTags.has(tag.toLowerCase())),
  };
}

/** Cards write `{{char}}` for the character and `{{user}}` for whoever talks to it. */
function filled(text: string, name: string): string {
  return text
    .replaceAll(/\{\{char\}\}|<BOT>/gi, () => name)
    .replaceAll(/\{\{user\}\}|<USER>/gi, 'the user')
    .replaceAll(/\{\{original\}\}/gi, '')
    .replaceAll('\r\n', '\n')
    .trim();
}

function promptOf(card: CardData, fill: (text: string | null | undefined) => string): string {
  const book = (card.character_book?.entries ?? []).filter(({ enabled, constant }) => enabled !== false && constant);
  const sections = [
    ['', fill(card.system_prompt) || fill('You are {{char}}. Stay in this role in every answer.')],
    ['About {{char}}', fill(card.description)],
    ['Personality', fill(card.personality)],
    ['Scenario', fill(card.scenario)],
    ['Background', book.map(({ content }) => fill(content)).join('\n')],
    ['Examples of how {{char}} talks', fill(card.mes_example)],
    ['', fill(card.post_history_instructions)],
  ] as const;
  return sections
    .filter(([, text]) => text !== '')
    .map(([title, text]) => (title === '' ? text : `${fill(title)}:\n${text}`))
    .join('\n\n');
}

/** A card whose name has no letter that a slug may hold needs a slug of its own; the fault then names the field. */
function slugOf(name: string): string {
  const plain = name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-');
  return trimOf(plain.slice(0, 64), '-');
}

/** Returns a character as a card in the V3 format, which programs for V2 also read. */
export function formatCharacterCard(character: CharacterDefinition): object {
  const { name, description, systemPrompt, greeting, tags, author } = character;
  return {
    spec: 'chara_card_v3',
    spec_version: '3.0',
    data: {
      ...{ name, description: '', personality: '', scenario: '', mes_example: '', tags, creator: author },
      first_mes: greeting ?? '',
      creator_notes: description ?? '',
      system_prompt: systemPrompt,
      post_history_instructions: '',
      alternate_greetings: [],
      group_only_greetings: [],
      character_version: '1',
      extensions: {},
    },
  };
}
