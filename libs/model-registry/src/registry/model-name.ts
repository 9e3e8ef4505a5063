/** A parsed `model` field: the name, and the raw pairs of its feature suffix. */
export interface ModelName {
  name: string;
  suffix: Record<string, string>;
}

/** How a pair of a suffix begins: `enable_web_search=`. */
const pairStart = /^[A-Za-z_]\w*=/;

/**
 * Splits off the feature suffix. A `:` without such a tail is part of the name. The modality validates the parameters;
 * the last of repeated ones wins.
 */
export function parseModelName(text: string): ModelName {
  const colon = findSuffix(text);
  if (colon < 0) return { name: text, suffix: {} };
  const pairs = text
    .slice(colon + 1)
    .split('&')
    .map((pair) => {
      const at = pair.indexOf('=');
      return [pair.slice(0, at), pair.slice(at + 1)] as const;
    });
  return { name: text.slice(0, colon), suffix: Object.fromEntries(pairs) };
}

/**
 * Returns the place of the first `:` with only pairs behind it, as in `default:enable_web_search=on&enable_x_search=on`,
 * in linear time; -1 without one.
 */
function findSuffix(text: string): number {
  let start = text.lastIndexOf('&');
  while (start > 0 && pairStart.test(text.slice(start + 1))) start = text.lastIndexOf('&', start - 1);
  // Every `&` behind this one begins a pair. The name has at least one character.
  let colon = text.indexOf(':', Math.max(1, start + 1));
  while (colon >= 0 && !pairStart.test(text.slice(colon + 1))) colon = text.indexOf(':', colon + 1);
  return colon;
}
