/** Longest passage, in units of an ASCII character. Embedding models read a few hundred tokens. */
const maxUnits = 900;
/** Other characters are a token or more each. */
const otherUnits = 2.2;
/** Passages that are shorter are joined with the next paragraph. */
const minUnits = 300;

function unitsOf(text: string): number {
  let units = 0;
  for (const character of text) units += character < '\u0080' ? 1 : otherUnits;
  return units;
}

/** Splits a text into passages that an embedding model reads whole: at paragraphs, else sentences, else words. */
export function splitIntoPassages(text: string): string[] {
  const passages: string[] = [];
  let open = '';
  for (const paragraph of text.split(/\n\s*\n/).map((part) => part.trim())) {
    if (paragraph === '') continue;
    const joined = open === '' ? paragraph : `${open}\n\n${paragraph}`;
    if (unitsOf(joined) <= maxUnits) {
      open = joined;
      if (unitsOf(open) < minUnits) continue;
      passages.push(open);
      open = '';
      continue;
    }
    if (open !== '') passages.push(open);
    open = '';
    passages.push(...pieces(paragraph, /(?<=[.!?。！？])\s*/));
  }
  if (open !== '') passages.push(open);
  return passages;
}

/** Packs the parts between separators into as few pieces as fit; a part that does not fit is split further. */
function pieces(text: string, separator: RegExp): string[] {
  const found: string[] = [];
  let open = '';
  for (const part of text.split(separator)) {
    const joined = open === '' ? part : `${open} ${part}`;
    if (unitsOf(joined) <= maxUnits) {
      open = joined;
      continue;
    }
    if (open !== '') found.push(open);
    open = '';
    if (unitsOf(part) <= maxUnits) open = part;
    else found.push(...(/\s/.test(part) ? pieces(part, /\s+/) : slices(part)));
  }
  if (open !== '') found.push(open);
  return found;
}

function slices(text: string): string[] {
  const characters = [...text];
  const length = Math.floor(maxUnits / otherUnits);
  const count = Math.ceil(characters.length / length);
  return Array.from({ length: count }, (_, index) => characters.slice(index * length, (index + 1) * length).join(''));
}
