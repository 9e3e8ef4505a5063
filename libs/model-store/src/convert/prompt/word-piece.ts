/** A WordPiece vocabulary of a BERT that ignores case and accents. */
export class WordPiece {
  constructor(private readonly ids: ReadonlyMap<string, number>) {}

  /** Whole words of letters of the Latin alphabet, at least two. */
  words(): string[] {
    return [...this.ids.keys()].filter((piece) => /^[a-zA-Z]{2,}$/.test(piece));
  }

  idOf(piece: string): number | undefined {
    return this.ids.get(piece);
  }

  /** Returns the ids of a word, longest pieces first; none for a word that the vocabulary cannot spell. */
  encode(word: string): number[] {
    const normal = normalize(word);
    const ids: number[] = [];
    for (let from = 0; from < normal.length;) {
      const found = this.longest(normal, from, from === 0 ? '' : '##');
      if (found === null) return [];
      ids.push(found.id);
      from = found.to;
    }
    return ids;
  }

  /** Returns the ids of text that continues a word, without the letters that no piece has. */
  encodeContinuation(text: string): number[] {
    const ids: number[] = [];
    for (let from = 0; from < text.length;) {
      const found = this.longest(text, from, '##');
      if (found !== null) ids.push(found.id);
      from = found?.to ?? from + 1;
    }
    return ids;
  }

  private longest(text: string, from: number, prefix: string): { id: number; to: number } | null {
    for (let to = text.length; to > from; to--) {
      const id = this.ids.get(prefix + text.slice(from, to));
      if (id !== undefined) return { id, to };
    }
    return null;
  }
}

/** Lower case, without accents, spaces and control characters, as BERT's normalizer does. */
function normalize(word: string): string {
  return word
    .toLowerCase()
    .normalize('NFD')
    .replaceAll(/[\p{Mn}\p{Cc}\s]/gu, '');
}
