import { type Regex, RegexArena } from './regex.js';
import { checkDeadline, isSliceOver } from './compile-deadline.js';
import { ConstraintRefusal } from './refusal.js';

/** A part of a grammar. Nodes are made once, children first, and compared by identity. */
export type GrammarNode =
  | (NodeBase & { readonly kind: 'lexeme'; readonly regex: Regex })
  | (NodeBase & { readonly kind: 'sequence'; readonly items: readonly GrammarNode[] })
  | (NodeBase & { readonly kind: 'choice'; readonly items: readonly GrammarNode[] })
  | (NodeBase & { readonly kind: 'repeat'; readonly body: GrammarNode; readonly min: number; readonly max: number })
  | GrammarMark
  | GrammarRule;

/**
 * Matches the empty text and says what a text has come to. Behind the name of a member: `name` where any text may be one,
 * `listed-name` where a name may have few or no others to go on with. `object` ends an object whose members have such names.
 * Strings of a list in which none comes twice are such names, too, and the list such an object. `item` ends another item of
 * such a list.
 */
export type GrammarMark = NodeBase & { readonly kind: 'mark'; readonly mark: MarkKind };

type MarkKind = 'name' | 'listed-name' | 'object' | 'item';

interface NodeBase {
  readonly id: number;
  /** Whether it may match the empty text. */
  readonly nullable: boolean;
}

/** A named place of the grammar, which may refer to itself. `body` is set once, behind its making. */
export interface GrammarRule extends NodeBase {
  readonly kind: 'rule';
  /** Where it comes from, for refusals. */
  readonly pointer: string;
  body: GrammarNode | null;
}

/** Largest number of nodes of one grammar. */
const maxNodes = 200_000;

/** Why a finished grammar is refused. */
export interface FinishReasons {
  /** A rule that begins with itself. */
  cycle: string;
  /** No finite text belongs to it. */
  nothing: string;
}

const schemaReasons: FinishReasons = { cycle: '$ref leads back to itself', nothing: 'no value satisfies the schema' };

/** Makes the nodes of one context-free grammar whose terminals are regular languages over bytes. */
export class Grammar {
  readonly arena = new RegexArena();
  readonly nothing: GrammarNode;
  readonly epsilon: GrammarNode;
  private readonly marks = new Map<GrammarMark['mark'], GrammarMark>();
  readonly rules: GrammarRule[] = [];
  /** In the order of their making. */
  private readonly nodes: GrammarNode[] = [];
  private readonly lexemes = new Map<Regex, GrammarNode>();
  private readonly repeats = new Map<string, GrammarNode>();
  private nullable: ReadonlySet<GrammarNode> = new Set();
  private productive: ReadonlySet<GrammarRule> = new Set();
  /** Answers of `isProductive` under the present `productive`. */
  private readonly answers = new Map<GrammarNode, boolean>();

  constructor() {
    this.nothing = this.add({ id: 0, nullable: false, kind: 'choice', items: [] });
    this.epsilon = this.add({ id: 1, nullable: true, kind: 'sequence', items: [] });
  }

  lexeme(regex: Regex): GrammarNode {
    if (regex === this.arena.empty) return this.nothing;
    if (regex === this.arena.epsilon) return this.epsilon;
    const known = this.lexemes.get(regex);
    if (known !== undefined) return known;
    const node = this.add({ id: this.nodes.length, nullable: regex.nullable, kind: 'lexeme', regex });
    this.lexemes.set(regex, node);
    return node;
  }

  text(text: string): GrammarNode {
    return this.lexeme(this.arena.text(text));
  }

  sequence(...items: readonly GrammarNode[]): GrammarNode {
    return this.inOrder(items);
  }

  /** As `sequence`, of a list that may be long. */
  inOrder(items: readonly GrammarNode[]): GrammarNode {
    checkDeadline(items.length);
    const kept = items.filter((item) => item !== this.epsilon);
    if (kept.includes(this.nothing)) return this.nothing;
    if (kept.length <= 1) return kept[0] ?? this.epsilon;
    const nullable = kept.every((item) => item.nullable);
    return this.add({ id: this.nodes.length, nullable, kind: 'sequence', items: kept });
  }

  choice(...items: readonly GrammarNode[]): GrammarNode {
    return this.anyOf(items);
  }

  /** As `choice`, of a list that may be long. */
  anyOf(items: readonly GrammarNode[]): GrammarNode {
    checkDeadline(items.length);
    const kept = [...new Set(items)].filter((item) => item !== this.nothing);
    if (kept.length <= 1) return kept[0] ?? this.nothing;
    const nullable = kept.some((item) => item.nullable);
    return this.add({ id: this.nodes.length, nullable, kind: 'choice', items: kept });
  }

  repeat(body: GrammarNode, min: number, max: number): GrammarNode {
    if (max === 0) return this.epsilon;
    if (body === this.nothing) return min === 0 ? this.epsilon : this.nothing;
    if (min === 1 && max === 1) return body;
    const key = `${body.id},${min},${max}`;
    const known = this.repeats.get(key);
    if (known !== undefined) return known;
    const node = this.add({ id: this.nodes.length, nullable: min === 0, kind: 'repeat', body, min, max });
    this.repeats.set(key, node);
    return node;
  }

  /** Whether its objects may have names that it does not list. */
  get hasOpenNames(): boolean {
    return this.marks.has('object');
  }

  get hasListedNames(): boolean {
    return this.marks.has('listed-name');
  }

  get hasDistinctItems(): boolean {
    return this.marks.has('item');
  }

  mark(mark: GrammarMark['mark']): GrammarMark {
    const known = this.marks.get(mark) ?? this.add({ id: this.nodes.length, nullable: true, kind: 'mark', mark });
    this.marks.set(mark, known);
    return known;
  }

  rule(pointer: string): GrammarRule {
    const rule = this.add({ id: this.nodes.length, nullable: false, kind: 'rule', pointer, body: null });
    this.rules.push(rule);
    return rule;
  }

  /**
   * Checks the whole grammar, once every rule has its body: a rule that begins with itself, and a start that no finite
   * text satisfies, are refused. Yields when its slice is over.
   */
  *finish(start: GrammarNode, reasons: FinishReasons = schemaReasons): Generator<void, void> {
    yield* this.findProductive();
    yield* this.checkRules(0, reasons.cycle);
    if (!this.isProductive(start)) throw new ConstraintRefusal(reasons.nothing);
  }

  /** Refuses a rule that begins with itself, among those from `first` on. Yields when its slice is over. */
  *checkRules(first: number, reason = schemaReasons.cycle): Generator<void, void> {
    this.nullable = yield* this.findNullable();
    yield* refuseLeftRecursion(this.rules.slice(first), this.nullable, reason);
  }

  /** Whether the empty text matches the node. Only behind `finish`. */
  isNullable(node: GrammarNode): boolean {
    if (node.kind === 'repeat') return node.min === 0 || this.isNullable(node.body);
    return node.nullable || this.nullable.has(node);
  }

  /** Nodes that may match the empty text, by their rules too. */
  private *findNullable(): Generator<void, ReadonlySet<GrammarNode>> {
    const found = new Set<GrammarNode>();
    const isNullable = (node: GrammarNode): boolean => {
      if (node.kind === 'sequence') return node.items.every((item) => found.has(item));
      if (node.kind === 'choice') return node.items.some((item) => found.has(item));
      if (node.kind === 'repeat') return node.min === 0 || found.has(node.body);
      return node.kind === 'rule' ? node.body !== null && found.has(node.body) : node.nullable;
    };
    for (let before = -1; before !== found.size;) {
      before = found.size;
      for (const node of this.nodes) {
        if (isSliceOver(widthOf(node))) yield;
        if (!found.has(node) && isNullable(node)) found.add(node);
      }
    }
    return found;
  }

  /** Whether some finite text matches the node. Only behind `finish`. */
  isProductive(node: GrammarNode): boolean {
    const known = this.answers.get(node);
    if (known !== undefined) return known;
    const answer = this.answerFor(node);
    this.answers.set(node, answer);
    return answer;
  }

  private answerFor(node: GrammarNode): boolean {
    checkDeadline(widthOf(node));
    switch (node.kind) {
      case 'lexeme':
        return this.arena.isLive(node.regex);
      case 'sequence':
        return node.items.every((item) => this.isProductive(item));
      case 'choice':
        return node.items.some((item) => this.isProductive(item));
      case 'repeat':
        return node.min === 0 || this.isProductive(node.body);
      case 'rule':
        return this.productive.has(node);
      case 'mark':
        return true;
    }
  }

  private *findProductive(): Generator<void, void> {
    const found = new Set<GrammarRule>();
    this.productive = found;
    for (const node of this.nodes) if (node.kind === 'lexeme') yield* this.arena.findLive(node.regex);
    for (let before = -1; before !== found.size;) {
      before = found.size;
      this.answers.clear();
      // Children first, so that no answer needs another one that is deep below.
      for (const node of this.nodes) {
        if (isSliceOver()) yield;
        if (node.kind !== 'rule') this.isProductive(node);
      }
      // Rules are made from the outside in, and what is outside needs what is inside.
      for (let index = this.rules.length - 1; index >= 0; index--) {
        if (isSliceOver()) yield;
        const rule = this.rules[index];
        if (!rule || found.has(rule) || rule.body === null || !this.isProductive(rule.body)) continue;
        found.add(rule);
        this.answers.delete(rule);
      }
    }
  }

  private add<Node extends GrammarNode>(node: Node): Node {
    checkDeadline();
    if (this.nodes.length >= maxNodes) throw new ConstraintRefusal('the grammar is too large');
    this.nodes.push(node);
    return node;
  }
}

/** How many others it looks at at once. */
function widthOf(node: GrammarNode): number {
  return node.kind === 'choice' || node.kind === 'sequence' ? 1 + node.items.length / 8 : 1;
}

function* refuseLeftRecursion(
  rules: readonly GrammarRule[],
  nullable: ReadonlySet<GrammarNode>,
  reason: string,
): Generator<void, void> {
  const open = new Set<GrammarRule>();
  const done = new Set<GrammarRule>();
  /** The rules on the way, each with those that it may begin with and that are still to be visited. */
  const path: { rule: GrammarRule; firsts: GrammarRule[] }[] = [];
  const enter = function* (rule: GrammarRule): Generator<void, void> {
    if (done.has(rule)) return;
    if (open.has(rule)) throw new ConstraintRefusal(reason, rule.pointer);
    open.add(rule);
    const firsts = rule.body === null ? [] : yield* firstRules(rule.body, nullable);
    path.push({ rule, firsts: firsts.reverse() });
  };
  for (const start of rules) {
    yield* enter(start);
    for (let at = path.at(-1); at !== undefined; at = path.at(-1)) {
      const next = at.firsts.pop();
      if (next !== undefined) yield* enter(next);
      else {
        open.delete(at.rule);
        done.add(at.rule);
        path.pop();
      }
    }
  }
}

/** Rules that a node may begin with. */
function* firstRules(start: GrammarNode, nullable: ReadonlySet<GrammarNode>): Generator<void, GrammarRule[]> {
  const rules: GrammarRule[] = [];
  const seen = new Set<GrammarNode>();
  const open = [start];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (seen.has(node)) continue;
    if (isSliceOver()) yield;
    seen.add(node);
    if (node.kind === 'rule') rules.push(node);
    else if (node.kind === 'repeat') open.push(node.body);
    else if (node.kind === 'choice') for (const item of node.items) open.push(item);
    else if (node.kind === 'sequence') {
      for (const item of node.items) {
        open.push(item);
        if (!nullable.has(item)) break;
      }
    }
  }
  return rules;
}
