import { Injectable } from '@nestjs/common';
import { nanosOf } from '#common';
import type { ModelManifest } from '#model-registry/manifest';
import { ApiConfig } from '#platform/config';
import { Logger } from '#platform/logging';
import { PageReader, type PageRequest, WebFault, WebSearch } from '#web';
import type { WebAccess } from '../job/web-access.js';
import type { WebSource } from '../job/web-source.js';
import { isWithin, sitesOfX, type XFilter } from './x-search.js';

const resultCount = 5;
const maxUrlLength = 120;

const notConfigured = 'Web search is off here. The operator turns it on with SLUICE_SEARCH_PROVIDERS.';

/** A search for one request. */
export interface LookupQuery {
  query: string;
  /** Whose searches share results for a while. */
  scope: string;
  /** Set: X is searched, through one provider. */
  x?: { provider: string; filter: XFilter };
}

/** Something that did not work, as a message for the client. */
export interface WebProblem {
  problem: string;
}

/** Searches and pages for chats, which go on without them: nothing rejects. */
@Injectable()
export class WebLookup {
  constructor(
    private readonly searches: WebSearch,
    private readonly pages: PageReader,
    private readonly config: ApiConfig,
    private readonly logger: Logger,
  ) {}

  get access(): Pick<WebAccess, 'search' | 'pages'> {
    return { search: this.searches.isConfigured ? null : notConfigured, pages: null };
  }

  /** Why a model cannot search X; null: it can. */
  xAccess({ id, xSearchProvider: provider }: Pick<ModelManifest, 'id' | 'xSearchProvider'>): string | null {
    if (provider === undefined)
      return `The manifest of the model ${id} names no xSearchProvider, so it has no x search.`;
    if (this.searches.hasProvider(provider)) return null;
    return `x search of the model ${id} needs the provider ${provider}. The operator adds it to SLUICE_SEARCH_PROVIDERS.`;
  }

  /** The most that a search costs, in nano-USD. */
  get maxSearchNano(): number {
    return Math.max(0, ...this.config.search.providers.map(({ priceUsd }) => Number(nanosOf(priceUsd))));
  }

  async search(
    { query, scope, x }: LookupQuery,
    signal: AbortSignal,
  ): Promise<{ sources: WebSource[]; priceNano: number } | WebProblem> {
    const on = x === undefined ? {} : { provider: x.provider, ...sitesOfX(x.filter) };
    const found = await this.within(signal, 'The web search', () =>
      this.searches.search({ query, count: resultCount, scope, ...on }, signal),
    );
    if ('problem' in found) return found;
    const all = found.result.results.map(({ title, url, snippet, date }) => {
      return { title, url, content: snippet, date: date ?? null };
    });
    const sources = x === undefined ? all : all.filter(({ date }) => isWithin(date, x.filter));
    return { sources, priceNano: this.priceOf(found.result.provider) };
  }

  private priceOf(provider: string): number {
    const found = this.config.search.providers.find(({ name }) => name === provider);
    return found === undefined ? this.maxSearchNano : Number(nanosOf(found.priceUsd));
  }

  async read(url: string, request: PageRequest): Promise<{ source: WebSource } | WebProblem> {
    const { signal } = request;
    const shown = url.slice(0, maxUrlLength);
    const read = await this.within(signal, `The page ${shown}`, () => this.pages.read(url, request));
    if ('problem' in read) return read;
    const { title, url: address, markdown, metadata } = read.result;
    if (markdown.trim() === '') return { problem: `The page ${shown} has no text.` };
    const date = metadata.published ?? null;
    return { source: { title: title === '' ? address : title, url: address, content: markdown, date } };
  }

  /** A provider that does not notice the signal is not waited for. */
  private async within<Result>(
    signal: AbortSignal,
    what: string,
    work: () => Promise<Result>,
  ): Promise<{ result: Result } | WebProblem> {
    let abort = (): void => undefined;
    const aborted = new Promise<never>((_resolve, reject) => {
      abort = () => reject(signal.reason as Error);
      if (signal.aborted) abort();
      else signal.addEventListener('abort', abort, { once: true });
    });
    try {
      return { result: await Promise.race([work(), aborted]) };
    } catch (error) {
      if (signal.aborted) return { problem: `${what} took too long.` };
      if (error instanceof WebFault) return { problem: `${what} failed: ${error.message}` };
      this.logger.warn({ error }, 'a lookup in the web failed');
      return { problem: `${what} failed.` };
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }
}
