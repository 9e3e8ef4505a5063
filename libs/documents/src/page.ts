/** What is known of a page before it is read. */
export interface PageHints {
  /** Address of the page, for its relative links. */
  url: string;
  /** Encoding of the response; empty: unknown. */
  charset: string;
}

export interface PageLink {
  text: string;
  /** Absolute http or https URL. */
  url: string;
}

export interface PageMetadata {
  description?: string;
  author?: string;
  site?: string;
  /** As the page writes it. */
  published?: string;
  language?: string;
}

export interface ExtractedPage {
  title: string;
  /** The main content. */
  markdown: string;
  /** Links of the page, each URL once. */
  links: PageLink[];
  metadata: PageMetadata;
  /** Whether the content was cut off at the maximum length. */
  isTruncated: boolean;
}
