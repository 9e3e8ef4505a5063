import type { CodePointSet } from './code-points.js';

/** A pattern as written, before anchors are resolved. */
export type PatternNode =
  | { kind: 'characters'; set: CodePointSet }
  | { kind: 'start' | 'end' }
  | { kind: 'boundary'; isNegated: boolean }
  | { kind: 'sequence'; items: PatternNode[] }
  | { kind: 'choice'; branches: PatternNode[] }
  | { kind: 'ahead' | 'behind'; body: PatternNode; isNegated: boolean }
  | { kind: 'repeat'; body: PatternNode; min: number; max: number };

export type LookAround = Extract<PatternNode, { kind: 'ahead' | 'behind' }>;
