/**
 * Returns the class of a nested value by inspecting it (messages differ by role), or the reason why it has none, worded
 * to follow the field's name.
 */
export type NestedClass = (value: Record<string, unknown>) => (new () => object) | { problem: string; at?: string };

const nestings = new WeakMap<object, Map<string, NestedClass>>();

/**
 * Marks a property whose object, or whose array's objects, are validated as `choose` decides; other values are skipped.
 */
export function nest(choose: NestedClass): PropertyDecorator {
  return (target, propertyKey) => {
    const known = nestings.get(target) ?? new Map<string, NestedClass>();
    known.set(String(propertyKey), choose);
    nestings.set(target, known);
  };
}

/** Nested properties of a class and its base classes. */
export function nestingsOf(prototype: object): Map<string, NestedClass> {
  const parent: unknown = Object.getPrototypeOf(prototype);
  const inherited = typeof parent === 'object' && parent !== null ? nestingsOf(parent) : new Map<string, NestedClass>();
  return new Map([...inherited, ...(nestings.get(prototype) ?? [])]);
}
