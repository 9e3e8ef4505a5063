/** Why a model cannot look something up, as a message for the client; null: it can. */
export interface WebAccess {
  search: string | null;
  pages: string | null;
  xSearch: string | null;
}

/** The access of a model that is not to use the web at all. */
export function noWebAccess(modelId: string): WebAccess {
  const refused = (what: string) => `The model ${modelId} does not support ${what}.`;
  return { search: refused('web search'), pages: refused('web scraping'), xSearch: refused('x search') };
}
