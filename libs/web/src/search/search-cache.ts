import { createHmac } from 'node:crypto';
import { deriveKey } from '#common';
import { SecretBox } from '#platform/encryption';
import type { Logger } from '#platform/logging';
import type { SearchCacheRepository } from './search-cache.repository.js';
import type { SearchQuery, SearchResponse } from './web-search.js';

export interface SearchCacheOptions {
  repository: Pick<SearchCacheRepository, 'find' | 'add' | 'trim'>;
  /** 64 hex digits each. */
  secretKeys: readonly [string, ...string[]];
  lifetimeMs: number;
  logger: Pick<Logger, 'warn'>;
  /** Rows of all searches together. Default: 10,000. */
  maxRows?: number;
}

/** A result list with long snippets takes about 45 kB. */
const maxBytes = 65_536;
/** Additions between two trims. */
const trimEvery = 50;

/**
 * Results of recent searches in the database. A row shows neither its query nor its results: its key is an HMAC, its
 * content is encrypted. Queries are shared within their scope only, so nobody learns what others search for.
 */
export class SearchCache {
  private readonly box: SecretBox;
  private readonly idKey: Buffer;
  private additions = 0;

  constructor(private readonly options: SearchCacheOptions) {
    this.box = new SecretBox(options.secretKeys, 'search results');
    this.idKey = deriveKey(options.secretKeys[0], 'search queries');
  }

  /** Null if nothing is stored. A database that fails must not stop a search. */
  async find(query: SearchQuery): Promise<SearchResponse | null> {
    const id = this.idOf(query);
    if (id === null) return null;
    try {
      const ciphertext = await this.options.repository.find(id);
      return ciphertext === null
        ? null
        : (JSON.parse(this.box.open(id, ciphertext).toString('utf8')) as SearchResponse);
    } catch (error) {
      this.options.logger.warn({ error }, 'stored search results cannot be read');
      return null;
    }
  }

  async add(query: SearchQuery, response: SearchResponse): Promise<void> {
    const id = this.idOf(query);
    const text = JSON.stringify(response);
    if (id === null || Buffer.byteLength(text) > maxBytes) return;
    const { repository, lifetimeMs, logger, maxRows = 10_000 } = this.options;
    try {
      await repository.add(id, this.box.seal(id, text), lifetimeMs);
      if (this.additions % trimEvery === 0) await repository.trim(maxRows);
      this.additions += 1;
    } catch (error) {
      logger.warn({ error }, 'search results cannot be stored');
    }
  }

  private idOf({ scope, query, count, freshness, safeSearch = true, language, ...rest }: SearchQuery): string | null {
    if (scope === undefined) return null;
    const parts = JSON.stringify([
      scope,
      query,
      count,
      freshness,
      safeSearch,
      language,
      rest.provider,
      rest.sites,
      rest.excludedSites,
    ]);
    return createHmac('sha256', this.idKey).update(parts).digest('base64url');
  }
}
