import { type Regex, RegexArena } from './regex.js';
import { ConstraintRefusal } from './refusal.js';

/** A part of a grammar. Nodes are made once and compared by identity. */
export type GrammarNode =
  | { readonly id: number; readonly kind: 'lexeme'; readonly regex: Regex }
  | { readonly id: number; readonly kind: 'sequence'; readonly items: readonly GrammarNode[] }
  | { readonly id: number; readonly kind: 'choice'; readonly items: readonly GrammarNode[] }
  | { readonly id: number; readonly kind: 'repeat'; readonly body: GrammarNode; readonly min: number; readonly max: number }
  | GrammarRule;

/** A named place of the grammar, which may refer to itself. `body` is set once, behind its making. */
export interface GrammarRule {
  readonly id: number;
  readonly kind: 'rule';
  /** Where it comes from, for refusals. */
  readonly pointer: string;
  body: GrammarNode | null;
}

/** Largest number of nodes of one grammar. */
const maxNodes = 200_000;

/** Makes the nodes of one context-free grammar whose terminals are regular languages over bytes. */
export class Grammar {
  readonly arena = new RegexArena();
  readonly nothing: GrammarNode;
  readonly epsilon: GrammarNode;
  readonly rules: GrammarRule[] = [];
  private nodeCount = 0;
  private readonly lexemes = new Map<Regex, GrammarNode>();
  private readonly repeats = new Map<string, GrammarNode>();
  private productive: ReadonlySet<GrammarRule> = new Set();
  /** Answers of `isProductive` under the present `productive`. */
  private readonly answers = new Map<GrammarNode, boolean>();

  constructor() {
    this.nothing = { id: this.nextId(), kind: 'choice', items: [] };
    this.epsilon = { id: this.nextId(), kind: 'sequence', items: [] };
  }

  lexeme(regex: Regex): GrammarNode {
    if (regex === this.arena.empty) return this.nothing;
    if (regex === this.arena.epsilon) return this.epsilon;
    const known = this.lexemes.get(regex);
    if (known !== undefined) return known;
    const node: GrammarNode = { id: this.nextId(), kind: 'lexeme', regex };
    this.lexemes.set(regex, node);
    return node;
  }

  text(text: string): GrammarNode {
    return this.lexeme(this.arena.text(text));
  }

  sequence(...items: readonly GrammarNode[]): GrammarNode {
    const kept = items.filter((item) => item !== this.epsilon);
    if (kept.includes(this.nothing)) return this.nothing;
    if (kept.length <= 1) return kept[0] ?? this.epsilon;
    return { id: this.nextId(), kind: 'sequence', items: kept };
  }

  choice(...items: readonly GrammarNode[]): GrammarNode {
    const kept = [...new Set(items)].filter((item) => item !== this.nothing);
    if (kept.length <= 1) return kept[0] ?? this.nothing;
    return { id: this.nextId(), kind: 'choice', items: kept };
  }

  /** The body must not match the empty text. */
  repeat(body: GrammarNode, min: number, max: number): GrammarNode {
    if (max === 0) return this.epsilon;
    if (body === this.nothing) return min === 0 ? this.epsilon : this.nothing;
    if (min === 1 && max === 1) return body;
    const key = `${body.id},${min},${max}`;
    const known = this.repeats.get(key);
    if (known !== undefined) return known;
    const node: GrammarNode = { id: this.nextId(), kind: 'repeat', body, min, max };
    this.repeats.set(key, node);
    return node;
  }

  rule(pointer: string): GrammarRule {
    const rule: GrammarRule = { id: this.nextId(), kind: 'rule', pointer, body: null };
    this.rules.push(rule);
    return rule;
  }

  /**
   * Checks the whole grammar, once every rule has its body: a rule that begins with itself, and a start that no finite
   * text satisfies, are refused.
   */
  finish(start: GrammarNode): void {
    this.productive = this.findProductive();
    refuseLeftRecursion(this.rules);
    if (!this.isProductive(start)) throw new ConstraintRefusal('no value satisfies the schema');
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
    }
  }

  private findProductive(): Set<GrammarRule> {
    const found = new Set<GrammarRule>();
    this.productive = found;
    for (let before = -1; before !== found.size; ) {
      before = found.size;
      this.answers.clear();
      // Rules are made from the outside in, and what is outside needs what is inside.
      for (const rule of [...this.rules].reverse()) {
        if (found.has(rule) || rule.body === null || !this.isProductive(rule.body)) continue;
        found.add(rule);
        this.answers.delete(rule);
      }
    }
    return found;
  }

  private nextId(): number {
    if (this.nodeCount >= maxNodes) throw new ConstraintRefusal('the grammar is too large');
    return this.nodeCount++;
  }
}

function refuseLeftRecursion(rules: readonly GrammarRule[]): void {
  const state = new Map<GrammarRule, 'open' | 'done'>();
  const visit = (rule: GrammarRule): void => {
    if (state.get(rule) === 'done') return;
    if (state.get(rule) === 'open') throw new ConstraintRefusal('$ref leads back to itself', rule.pointer);
    state.set(rule, 'open');
    if (rule.body !== null) for (const first of firstRules(rule.body)) visit(first);
    state.set(rule, 'done');
  };
  for (const rule of rules) visit(rule);
}

/** Rules that a node may begin with. Only lexemes and repeats match the empty text. */
function firstRules(node: GrammarNode): GrammarRule[] {
  switch (node.kind) {
    case 'lexeme':
      return [];
    case 'rule':
      return [node];
    case 'repeat':
      return firstRules(node.body);
    case 'choice':
      return node.items.flatMap(firstRules);
    case 'sequence': {
      const end = node.items.findIndex((item) => !mayBeEmpty(item));
      return node.items.slice(0, end < 0 ? node.items.length : end + 1).flatMap(firstRules);
    }
  }
}

function mayBeEmpty(node: GrammarNode): boolean {
  switch (node.kind) {
    case 'lexeme':
      return node.regex.nullable;
    case 'rule':
      return false;
    case 'repeat':
      return node.min === 0;
    case 'choice':
      return node.items.some(mayBeEmpty);
    case 'sequence':
      return node.items.every(mayBeEmpty);
  }
}
