/** Whether an object of a JSON text has a name twice. The text may be cut off anywhere. */
export function hasRepeatedName(text: string): boolean {
  const open: (Set<string> | null)[] = [];
  let isAtName = false;
  for (let position = 0; position < text.length; position++) {
    const character = text[position];
    if (character === '{') open.push(new Set());
    else if (character === '[') open.push(null);
    else if (character === '}' || character === ']') open.pop();
    if (character === '{' || character === ',') isAtName = true;
    if (character !== '"') continue;
    const literal = /^"(?:[^"\\]|\\.)*"/.exec(text.slice(position))?.[0];
    if (literal === undefined) return false;
    const names = isAtName ? open.at(-1) : null;
    isAtName = false;
    position += literal.length - 1;
    if (!names) continue;
    const name = JSON.parse(literal) as string;
    if (names.has(name)) return true;
    names.add(name);
  }
  return false;
}
