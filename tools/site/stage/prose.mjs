/** A fenced block, or code in a line, which ends in the same paragraph. */
const code = /^ *(`{3,})[^]*?^ *\1`*$|(?<!`)(`+)(?!`)(?:(?!\n\n)[^])*?(?<!`)\2(?!`)/m;

/** The text of a page with everything outside its code replaced by what `map` returns for it. */
export function mapProse(text, map) {
  let rest = text;
  let mapped = '';
  for (let match = code.exec(rest); match !== null; match = code.exec(rest)) {
    mapped += map(rest.slice(0, match.index)) + match[0];
    rest = rest.slice(match.index + match[0].length);
  }
  return mapped + map(rest);
}
