import { queryFault, queryText } from '#platform/http';
import { type CharacterFilter, type CharacterPage, characterSorts, type CharacterSort } from '../character.js';

export const limits = { search: 200, items: 20, tag: 100, modelId: 200, page: 100 } as const;
const maxOffset = 1_000_000;

/** What a `GET /characters` query asks for. */
export interface CharactersQuery {
  /** Null: nothing, because no character needs a paid plan. */
  filter: CharacterFilter | null;
  page: CharacterPage;
}

/** Throws `INVALID_REQUEST` naming the parameter. */
export function readCharactersQuery(query: unknown): CharactersQuery {
  const search = queryText(query, 'search')?.trim() ?? '';
  if ([...search].length > limits.search) {
    throw queryFault('search', `search must have at most ${limits.search} characters.`, 'too_big');
  }
  const filter = {
    search: search === '' ? null : storable('search', search),
    tags: readList(query, 'tags', limits.tag),
    categories: readList(query, 'categories', limits.tag),
    modelIds: readList(query, 'modelId', limits.modelId),
    adult: readFlag(query, 'isAdult'),
    webEnabled: readFlag(query, 'isWebEnabled'),
  };
  const page = {
    sort: readChoice<CharacterSort>(query, 'sortBy', characterSorts) ?? 'featured',
    descending: readChoice(query, 'sortOrder', ['asc', 'desc']) !== 'asc',
    limit: readInteger(query, 'limit', { min: 1, max: limits.page, none: 50 }),
    offset: readInteger(query, 'offset', { min: 0, max: maxOffset, none: 0 }),
  };
  return { filter: readFlag(query, 'isPro') === true ? null : filter, page };
}

/** Throws `INVALID_REQUEST` naming the parameter. */
export function readReviewsQuery(query: unknown): { page: number; pageSize: number } {
  return {
    page: readInteger(query, 'page', { min: 1, max: maxOffset, none: 1 }),
    pageSize: readInteger(query, 'pageSize', { min: 1, max: limits.page, none: 20 }),
  };
}

/** PostgreSQL has no text with a zero character, nor half of a surrogate pair. */
function storable(name: string, text: string): string {
  if (!text.includes('\0') && text.isWellFormed()) return text;
  throw queryFault(name, `${name} must be text.`);
}

/** A list is repeated or has commas; some clients write `name[]`. */
function readList(query: unknown, name: string, maxLength: number): string[] {
  const texts = [name, `${name}[]`].flatMap((key) => (query as Record<string, unknown>)[key] ?? []);
  const items = texts.flatMap((text) => String(text).split(',')).map((text) => text.trim());
  const named = [...new Set(items.filter((text) => text !== ''))];
  if (named.length > limits.items) {
    throw queryFault(name, `${name} may hold at most ${limits.items} values.`, 'too_big');
  }
  if (named.some((text) => [...text].length > maxLength)) {
    throw queryFault(name, `Each value of ${name} must have at most ${maxLength} characters.`, 'too_big');
  }
  return named.map((text) => storable(name, text));
}

function readFlag(query: unknown, name: string): boolean | null {
  const text = readChoice(query, name, ['true', 'false']);
  return text === null ? null : text === 'true';
}

function readChoice<Choice extends string>(query: unknown, name: string, choices: readonly Choice[]): Choice | null {
  const text = queryText(query, name);
  if (text === undefined) return null;
  const chosen = choices.find((choice) => choice === text);
  if (chosen !== undefined) return chosen;
  throw queryFault(name, `${name} must be one of: ${choices.join(', ')}.`, 'invalid_enum_value');
}

function readInteger(
  query: unknown,
  name: string,
  { min, max, none }: { min: number; max: number; none: number },
): number {
  const text = queryText(query, name) ?? '';
  if (text === '') return none;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw queryFault(name, `${name} must be a whole number from ${min} to ${max}.`);
}
