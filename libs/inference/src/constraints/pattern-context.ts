import { type CharacterWriter, complement } from './code-points.js';
import { checkDeadline } from './compile-deadline.js';
import type { LookAround, PatternNode } from './pattern-node.js';
import { ConstraintRefusal } from './refusal.js';
import type { Regex, RegexArena } from './regex.js';
import { wordCharacters } from './word-characters.js';

/** What a text has in front of a place: nothing, a character of words, or another one. */
type Context = 'start' | 'word' | 'other';

/** Sequences that the alternatives of one pattern may make. */
const maxSequences = 256;

/** Whether a pattern has anchors within, word boundaries or look-around that depend on what is in front of them. */
export function needsContext(node: PatternNode): boolean {
  if (node.kind === 'choice') return node.branches.some(needsContext);
  const items = node.kind === 'sequence' ? node.items : [node];
  const [only] = items;
  if (items.length === 1 && only !== undefined && only !== node) return needsContext(only);
  return items.some((item, index) => {
    if (item.kind === 'start') return index > 0;
    if (item.kind === 'end') return index < items.length - 1;
    if (item.kind === 'ahead') return branchesOf(item.body).some((branch) => isOfContext(branch));
    return hasAssertion(item);
  });
}

/** Whether what a look-ahead reads is more than plain items with an end. */
function isOfContext(node: PatternNode): boolean {
  const items = itemsOf(node);
  return items.some((item, index) => (item.kind === 'end' ? index < items.length - 1 : hasAssertion(item)));
}

function hasAssertion(node: PatternNode): boolean {
  if (node.kind === 'sequence') return node.items.some(hasAssertion);
  if (node.kind === 'choice') return node.branches.some(hasAssertion);
  if (node.kind === 'repeat') return hasAssertion(node.body);
  return node.kind !== 'characters';
}

function itemsOf(node: PatternNode): readonly PatternNode[] {
  return node.kind === 'sequence' ? node.items : [node];
}

function branchesOf(node: PatternNode): readonly PatternNode[] {
  return node.kind === 'choice' ? node.branches : [node];
}

/** What the writer of plain patterns does for this one. */
interface PlainWriter {
  readonly anyText: Regex;
  exact(node: PatternNode): Regex;
}

/**
 * Writes patterns with assertions about what is around a place. Their alternatives are taken apart into sequences of plain items
 * and assertions; each item is split by its last character, so that what follows knows what is in front of it.
 */
export class ContextWriter {
  private readonly endsWithWord: Regex;
  private readonly endsWithOther: Regex;
  private readonly startsWithWord: Regex;

  constructor(
    private readonly arena: RegexArena,
    write: CharacterWriter,
    private readonly plain: PlainWriter,
  ) {
    const { anyText } = plain;
    const word = write(arena, wordCharacters);
    this.endsWithWord = arena.concat(anyText, word);
    this.endsWithOther = arena.concat(anyText, write(arena, complement(wordCharacters)));
    this.startsWithWord = arena.concat(word, anyText);
  }

  /** As `PatternWriter.found`. */
  found(node: PatternNode, around: Regex): Regex {
    return this.arena.anyOf(sequencesOf([node]).map((items) => this.text(items, around)));
  }

  /** The texts of one sequence. What look-behind reads is checked while they are put together from the left. */
  private text(items: readonly PatternNode[], around: Regex): Regex {
    const { arena } = this;
    const rest = new Rest(this, items, around);
    const last = items.findLastIndex(({ kind }) => kind === 'behind');
    const checks: Regex[] = [];
    let front = around;
    for (const [index, item] of items.slice(0, last + 1).entries()) {
      if (item.kind === 'behind') front = arena.and(front, this.behind(item));
      else if (item.kind === 'start') front = front.nullable ? arena.epsilon : arena.empty;
      else if (item.kind === 'ahead' && front === arena.epsilon) checks.push(rest.ahead(item, 'start'));
      else if (hasAssertion(item))
        throw new ConstraintRefusal('a pattern with other assertions before a look-behind is not supported');
      else front = arena.concat(front, this.plain.exact(items[index] as PatternNode));
    }
    return arena.and(
      ...checks,
      this.split(front, (context) => rest.from(last + 1, context), 'start'),
    );
  }

  /** `front` with what may follow each of its texts; `context` is in front of an empty one. */
  split(front: Regex, behind: (context: Context) => Regex, context: Context): Regex {
    const { arena } = this;
    const [word, other] = [behind('word'), behind('other')];
    if (word === other && (!front.nullable || behind(context) === word)) return arena.concat(front, word);
    return arena.or(
      front.nullable ? behind(context) : arena.empty,
      arena.concat(arena.and(front, this.endsWithWord), word),
      arena.concat(arena.and(front, this.endsWithOther), other),
    );
  }

  exact(node: PatternNode): Regex {
    return this.plain.exact(node);
  }

  get anyText(): Regex {
    return this.plain.anyText;
  }

  /** Texts that begin with a character of words, or do not. */
  startingWithWord(isWord: boolean): Regex {
    return isWord ? this.startsWithWord : this.arena.not(this.startsWithWord);
  }

  /** All texts that end in what a look-behind reads, or in nothing of it. */
  private behind({ body, isNegated }: LookAround): Regex {
    const { arena } = this;
    const endings = sequencesOf([body]).map((items) => {
      const isWhole = items[0]?.kind === 'start';
      const read = items.slice(isWhole ? 1 : 0);
      if (read.some(hasAssertion)) throw new ConstraintRefusal('a look-behind with assertions inside is not supported');
      return arena.concat(isWhole ? arena.epsilon : this.anyText, ...read.map((item) => this.exact(item)));
    });
    const all = arena.anyOf(endings);
    return isNegated ? arena.not(all) : all;
  }

  get regexes(): RegexArena {
    return this.arena;
  }
}

/** What may follow from each item of a sequence on, by what is in front of it. */
class Rest {
  private readonly known = new Map<string, Regex>();

  constructor(
    private readonly writer: ContextWriter,
    private readonly items: readonly PatternNode[],
    /** What follows the last item. */
    private readonly end: Regex,
  ) {}

  from(index: number, context: Context): Regex {
    checkDeadline();
    const key = `${index}${context}`;
    const found = this.known.get(key) ?? this.write(index, context);
    this.known.set(key, found);
    return found;
  }

  private write(index: number, context: Context): Regex {
    const item = this.items[index];
    const { regexes: arena } = this.writer;
    if (item === undefined) return this.end;
    const behind = (at: Context): Regex => this.from(index + 1, at);
    switch (item.kind) {
      case 'start':
        return context === 'start' ? behind(context) : arena.empty;
      case 'end':
        return behind(context).nullable ? arena.epsilon : arena.empty;
      case 'boundary':
        return arena.and(this.writer.startingWithWord((context === 'word') === item.isNegated), behind(context));
      case 'ahead':
        return arena.and(this.ahead(item, context), behind(context));
      default:
        return this.writer.split(this.writer.exact(item), behind, context);
    }
  }

  /** All that may follow, whether or not the text goes on with more than the look-ahead reads. */
  ahead({ body, isNegated }: LookAround, context: Context): Regex {
    const { writer } = this;
    const read = sequencesOf([body]).map((items) => new Rest(writer, items, writer.anyText).from(0, context));
    const all = writer.regexes.anyOf(read);
    return isNegated ? writer.regexes.not(all) : all;
  }
}

/** The sequences that the alternatives of these items make, as far as they have assertions: other items stay whole. */
function sequencesOf(items: readonly PatternNode[]): PatternNode[][] {
  let sequences: PatternNode[][] = [[]];
  for (const item of items) {
    const choices = alternativesOf(item);
    sequences = sequences.flatMap((before) => choices.map((choice) => [...before, ...choice]));
    checkDeadline(sequences.length);
    if (sequences.length > maxSequences)
      throw new ConstraintRefusal('a pattern of so many alternatives with assertions is not supported');
  }
  return sequences;
}

function alternativesOf(item: PatternNode): PatternNode[][] {
  if (!hasAssertion(item)) return [[item]];
  if (item.kind === 'sequence') return sequencesOf(item.items);
  if (item.kind === 'choice') return item.branches.flatMap((branch) => sequencesOf([branch]));
  if (item.kind !== 'repeat') return [[item]];
  if (item.max !== 1) throw new ConstraintRefusal('a pattern that repeats an assertion is not supported');
  return item.min === 0 ? [[], ...alternativesOf(item.body)] : alternativesOf(item.body);
}
