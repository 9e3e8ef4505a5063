import { type Clock, PlatformError, systemClock } from '#common';
import { Injectable, Optional } from '#platform/injection';
import type {
  Character,
  CharacterDefinition,
  CharacterFilter,
  CharacterPage,
  CharacterReview,
  RatedCharacter,
} from './character.js';
import { CharactersRepository } from './characters.repository.js';
import { slugPattern } from './files/character.schema.js';
import { type NewReview, ReviewsRepository } from './reviews.repository.js';

/** How long chats use a character that they looked up, in ms. */
const cacheMs = 2_000;
const maxCached = 1_000;

/** Characters and their reviews. */
@Injectable()
export class CharactersService {
  private readonly cached = new Map<string, { character: Character; readMs: number }>();

  constructor(
    private readonly characters: CharactersRepository,
    private readonly written: ReviewsRepository,
    @Optional() private readonly clock: Clock = systemClock,
  ) {}

  /** Returns a page of a list, with the ratings of an account. */
  list(filter: CharacterFilter, page: CharacterPage, accountId: string): Promise<RatedCharacter[]> {
    return this.characters.list(filter, page, accountId);
  }

  /** Every character by slug; for the operator. */
  all(): Promise<Character[]> {
    return this.characters.all();
  }

  /** Rejects with `CHARACTER_NOT_FOUND`. */
  async find(slug: string): Promise<Character> {
    if (!slugPattern.test(slug)) refuseUnknown(slug);
    return (await this.characters.find(slug)) ?? refuseUnknown(slug);
  }

  /** Returns a character with the rating of an account. Rejects with `CHARACTER_NOT_FOUND`. */
  async findRated(slug: string, accountId: string): Promise<RatedCharacter> {
    if (!slugPattern.test(slug)) refuseUnknown(slug);
    return (await this.characters.findRated(slug, accountId)) ?? refuseUnknown(slug);
  }

  /** Returns a character for a chat, at most 2 s old; null: there is none. */
  async recall(slug: string): Promise<Character | null> {
    const known = this.cached.get(slug);
    const nowMs = this.clock.monotonicMs();
    if (known !== undefined && nowMs - known.readMs < cacheMs) return known.character;
    this.cached.delete(slug);
    const character = slugPattern.test(slug) ? await this.characters.find(slug) : null;
    if (this.cached.size >= maxCached) this.cached.clear();
    if (character !== null) this.cached.set(slug, { character, readMs: nowMs });
    return character;
  }

  /** Rejects with `INVALID_REQUEST` if the slug is taken. */
  async add(definition: CharacterDefinition): Promise<Character> {
    const { slug } = definition;
    if (await this.characters.insert(definition)) return await this.find(slug);
    throw new PlatformError('INVALID_REQUEST', `There is a character ${slug} already.`, 'slug');
  }

  /** Adds a character, or replaces its definition; its reviews and uses stay. */
  save(definition: CharacterDefinition): Promise<Character> {
    return this.characters.save(definition);
  }

  /** Removes a character with its reviews. Rejects with `CHARACTER_NOT_FOUND`. */
  async remove(slug: string): Promise<void> {
    if (!(await this.characters.remove(slug))) refuseUnknown(slug);
  }

  /** Returns a page of a character's reviews, the newest first. Rejects with `CHARACTER_NOT_FOUND`. */
  async reviews(
    slug: string,
    page: { page: number; pageSize: number },
  ): Promise<{ character: Character; reviews: CharacterReview[] }> {
    const character = await this.find(slug);
    return { character, reviews: await this.written.list(character.id, page) };
  }

  /** Writes a review; one of the same account replaces the earlier one. Rejects with `CHARACTER_NOT_FOUND`. */
  async review(slug: string, review: Omit<NewReview, 'characterId'>): Promise<CharacterReview> {
    const { id } = await this.find(slug);
    return await this.written.save({ characterId: id, ...review });
  }
}

/** The text of a request is quoted back but truncated, because it may be megabytes. */
function refuseUnknown(slug: string): never {
  const shown = slug.length > 80 ? `${slug.slice(0, 80)}…` : slug;
  throw new PlatformError('CHARACTER_NOT_FOUND', `There is no character ${shown}.`, 'slug');
}
