import { compile, type NewableClass } from './compiled-class.js';
import { findIssues, invalidRequest } from './find-issues.js';

/**
 * Converts a value from another process to an instance of its class, including nested members. Members without a rule
 * are dropped, since the sender may be a newer version. Throws `INVALID_REQUEST` naming the first invalid member.
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
  // Checked before: every object has its class here.
  return build(choose(member as Record<string, unknown>) as NewableClass, member as Record<string, unknown>);
}
