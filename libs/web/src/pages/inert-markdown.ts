/** Elements that load or run something where Markdown is shown as HTML. */
const active =
  /<(?=\/?(?:iframe|frame|frameset|object|embed|applet|portal|script|style|form|link|meta|base|svg|math)(?![\w-]))/gi;
/** The target of a link that runs a script, written with or without angle brackets. */
const scripted = /(\]\([ \t\n]?<?|^[ \t]{0,3}\[[^\]\n]{1,200}\]:[ \t]?<?)(?=(?:javascript|vbscript|data:text):?)/gim;

/**
 * Markdown of a page in which the text of frames, forms and scripts stays text, and no link runs a script. It is not a
 * substitute for a sanitizer where it is shown as HTML.
 */
export function inertMarkdown(text: string): string {
  return text.replaceAll(active, '\\<').replaceAll(scripted, '$1#');
}
