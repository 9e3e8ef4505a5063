import { mapProse } from '../prose.mjs';

/** Text of the document as Markdown in one cell of a table: on one line, and neither HTML nor a template of Vue. */
export const cell = (text) => prose(text).replaceAll(/\s+/g, ' ').replaceAll('|', '\\|').trim();

/** The same outside of tables. */
export const prose = (text) =>
  mapProse(text, (part) => part.replaceAll('<', '&lt;').replaceAll('{{', '&#123;&#123;')).trim();
