import type { WebUse } from '../../contract/chat.web-meter.js';

/** Something found in the web, with its text as the provider or the page gives it: untrusted. */
export interface WebSource {
  title: string;
  url: string;
  content: string;
  date: string | null;
}

/** A lookup that a request made. */
export interface WebCall {
  target: { query: string } | { url: string };
  isFailed: boolean;
}

/** What a request got from the web. */
export interface WebFindings {
  /** In the order of their numbers in citations. */
  sources: readonly WebSource[];
  /** Searches that succeeded and pages that were read: each is charged. */
  use: WebUse;
  calls: readonly WebCall[];
  /** The model decided that it needs nothing. */
  isDeclined?: boolean;
  /** What did not work, for the client; null if all did. */
  problem: string | null;
}

/** Follows the lookups of a request. */
export interface WebObserver {
  /** Called before the first of them. */
  begun(targets: readonly WebCall['target'][]): Promise<void>;
  /** Called when all of them are over; the sources have the numbers of citations. */
  ended(findings: Pick<WebFindings, 'calls' | 'sources'>): Promise<void>;
}

export const nothingFound: WebFindings = { sources: [], use: {}, calls: [], problem: null };
