/** A `model` field taken apart: the name, and the pairs of its feature suffix as they were written. */
export interface ModelName {
  name: string;
  suffix: Record<string, string>;
}

/** `default:enable_web_search=on&enable_web_citations=true`. Only a tail of this form is a suffix (contract 2.6). */
const suffixPattern = /^([^]+?):([A-Za-z_]\w*=[^&]*(?:&[A-Za-z_]\w*=[^&]*)*)$/;

/**
 * Splits off the feature suffix. Names that hold `:` without such a tail stay whole. Which parameters exist and what
 * they may be is the modality's to say; of a repeated one the last counts.
 */
export function parseModelName(text: string): ModelName {
  const match = suffixPattern.exec(text);
  if (!match?.[1] || !match[2]) return { name: text, suffix: {} };
  const pairs = match[2].split('&').map((pair) => {
    const at = pair.indexOf('=');
    return [pair.slice(0, at), pair.slice(at + 1)] as const;
  });
  return { name: match[1], suffix: Object.fromEntries(pairs) };
}
