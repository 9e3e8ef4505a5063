import { compile, type NewableClass } from './compiled-class.js';
import { findIssues, invalidRequest } from './find-issues.js';

/**
 * A value of another process as an instance of its class, and its members as instances of theirs. Members that no rule
 * names are dropped: such classes only grow, and the sender may be of next week. Throws `INVALID_REQUEST` naming the
 * first wrong member.
 */
export function toInstance<T extends object>(type: NewableClass<T>, value: unknown): T {
  const issues = findIssues(type, value);
  if (issues.length > 0) throw invalidRequest(issues);
  return build(type, value as Record<string, unknown>);
}

function build<T extends object>(type: NewableClass<T>, value: Record<string, unknown>): T {
  const instance = new type() as Record<string, unknown>;
  for (const { property, nested } of compile(type)) {
    if (!Object.hasOwn(value, property)) continue;
    const member = value[property];
    instance[property] = nested === undefined ? member : buildNested(nested, member);
  }
  return instance as T;
}

function buildNested(choose: (value: Record<string, unknown>) => unknown, member: unknown): unknown {
  if (Array.isArray(member)) return member.map((item) => buildNested(choose, item));
  if (typeof member !== 'object' || member === null) return member;
  // Checked before: here every object has its class.
  return build(choose(member as Record<string, unknown>) as NewableClass, member as Record<string, unknown>);
}
