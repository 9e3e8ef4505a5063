/** A parsed `model` field: the name, and the raw pairs of its feature suffix. */
export interface ModelName {
  name: string;
  suffix: Record<string, string>;
}

/** `default:enable_web_search=on&enable_web_citations=true`. Only a tail of this form is a suffix. */
const suffixPattern = /^([^]+?):([A-Za-z_]\w*=[^&]*(?:&[A-Za-z_]\w*=[^&]*)*)$/;

/**
 * Splits off the feature suffix. A `:` without such a tail is part of the name. The modality validates the parameters;
 * the last of repeated ones wins.
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
