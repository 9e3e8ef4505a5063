import type { ResponsesUrlCitation, ResponsesWarning } from '../../contract/responses/responses.response.js';
import type { ChatEffectiveParameters } from '../../contract/chat.response.js';
import { isDocument } from '../characters/source-texts.js';

/** What texts cite: web sources from 0 as `[REF]0[/REF]`, passages of a character's documents from 1 as `[1]`. */
const marker = /\[REF\](\d+)\[\/REF\]|\[(\d{1,2})\]/g;

/** The citations in a text as annotations, which name the place of each marker. */
export function urlCitations(
  text: string,
  sources: readonly { title: string; url: string }[] = [],
): ResponsesUrlCitation[] {
  const pages = sources.filter(({ url }) => !isDocument(url));
  const passages = sources.filter(({ url }) => isDocument(url));
  return [...text.matchAll(marker)].flatMap(({ 0: cited, 1: page, 2: passage, index }) => {
    const source = page === undefined ? passages[Number(passage) - 1] : pages[Number(page)];
    if (source === undefined) return [];
    const { title, url } = source;
    return { type: 'url_citation', url, title, start_index: index, end_index: index + cited.length };
  });
}

/** What did not work in the web, for the response. */
export function webWarnings({ web_search_error: message }: ChatEffectiveParameters): ResponsesWarning[] {
  if (message === undefined) return [];
  return [{ code: 'web_search_failed', param: 'service_parameters.enable_web_search', message }];
}
