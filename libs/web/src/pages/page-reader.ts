import type { PageLink, PageMetadata } from '#documents';

export interface WebPage {
  /** URL after redirects. */
  url: string;
  title: string;
  /** The main content. */
  markdown: string;
  /** Links of the page, each URL once. */
  links: PageLink[];
  metadata: PageMetadata;
}

export interface PageRequest {
  /** The account that asks. */
  owner: string;
  signal: AbortSignal;
}

/** Fetches pages and turns them into Markdown. */
export abstract class PageReader {
  /** Rejects with `WebFault`, or with the signal's reason. */
  abstract read(url: string, request: PageRequest): Promise<WebPage>;
}
