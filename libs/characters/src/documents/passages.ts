/** Units of an ASCII character, and of another one, which is a token or more. */
const plainUnits = 10;
const otherUnits = 22;
/** Longest passage. Embedding models read a few hundred tokens. */
const maxUnits = 900 * plainUnits;
/** Passages that are shorter are joined with the next paragraph. */
const minUnits = 300 * plainUnits;

function unitsOf(text: string): number {
  let units = 0;
  for (const character of text) units += character < '\u0080' ? plainUnits : otherUnits;
  return units;
}

/** Texts that are joined while they fit into a passage. Counts each text once, however many are joined. */
class OpenPassage {
  private readonly parts: string[] = [];
  private units = 0;

  constructor(private readonly separator: string) {}

  get isLong(): boolean {
    return this.units >= minUnits;
  }

  /** Whether the text fitted. */
  add(text: string): boolean {
    if (text === '' && this.parts.length === 0) return true;
    const units = unitsOf(text) + (this.parts.length === 0 ? 0 : this.separator.length * plainUnits);
    if (this.units + units > maxUnits) return false;
    this.parts.push(text);
    this.units += units;
    return true;
  }

  /** Empties the passage into a list; nothing that is empty becomes one. */
  moveTo(passages: string[]): void {
    if (this.units > 0) passages.push(this.parts.join(this.separator));
    this.parts.length = 0;
    this.units = 0;
  }
}

/** Splits a text into passages that an embedding model reads whole: at paragraphs, else sentences, else words. */
export function splitIntoPassages(text: string): string[] {
  const passages: string[] = [];
  const open = new OpenPassage('\n\n');
  for (const paragraph of paragraphsOf(text)) {
    if (open.add(paragraph)) {
      if (open.isLong) open.moveTo(passages);
      continue;
    }
    open.moveTo(passages);
    // Not joined with what follows, even if it is short.
    addPieces(passages, paragraph, /(?<=[.!?。！？])\s*/);
  }
  open.moveTo(passages);
  return passages;
}

/** The texts between lines of white space, without white space around them. */
function* paragraphsOf(text: string): Generator<string> {
  let lines: string[] = [];
  for (const line of [...text.split('\n'), '']) {
    if (line.trim() !== '') lines.push(line);
    else if (lines.length > 0) {
      yield lines.join('\n').trim();
      lines = [];
    }
  }
}

/** Packs the parts between separators into as few pieces as fit; a part that does not fit is split further. */
function addPieces(pieces: string[], text: string, separator: RegExp): void {
  const open = new OpenPassage(' ');
  for (const part of text.split(separator)) {
    if (open.add(part)) continue;
    open.moveTo(pieces);
    if (open.add(part)) continue;
    if (/\s/.test(part)) addPieces(pieces, part, /\s+/);
    else pieces.push(...slices(part));
  }
  open.moveTo(pieces);
}

function slices(text: string): string[] {
  const characters = [...text];
  const length = Math.floor(maxUnits / otherUnits);
  const count = Math.ceil(characters.length / length);
  return Array.from({ length: count }, (_, index) => characters.slice(index * length, (index + 1) * length).join(''));
}
