import { Automaton, type State } from './automaton.js';
import { compileSchema } from './schema/schema-compiler.js';
import { ItemReader } from './unique-items.js';
import type { SchemaOptions } from './schema/schema-document.js';

/** The automaton of a schema, compiled at once: for tests. */
export function automatonOf(schema: unknown, options: SchemaOptions = {}): Automaton {
  const work = compileSchema(schema, options);
  for (;;) {
    const step = work.next();
    if (step.done) return Automaton.of(step.value.grammar, step.value.start);
  }
}

/** Whether a text belongs to the grammar, decided byte by byte, and no list has an item twice that must not. */
export function accepts(automaton: Automaton, text: string): boolean {
  let state: State = automaton.start;
  const items = new ItemReader(automaton);
  for (const byte of new TextEncoder().encode(text)) {
    const next = automaton.next(state, byte);
    if (next === null || !items.read(state, byte, next)) return false;
    state = next;
  }
  return state.isComplete;
}

/** Whether the instance belongs to it with its members in some order: a grammar keeps to the order of its schema. */
export function acceptsInSomeOrder(automaton: Automaton, instance: unknown): boolean {
  for (const text of writtenOrders(instance)) if (accepts(automaton, text)) return true;
  return false;
}

/** The compact JSON of an instance, with members in every order. */
function writtenOrders(instance: unknown): string[] {
  if (Array.isArray(instance)) return choices(instance.map(writtenOrders)).map((items) => `[${items.join(',')}]`);
  if (typeof instance !== 'object' || instance === null) return [JSON.stringify(instance)];
  return permutations(Object.entries(instance)).flatMap((members) =>
    choices(members.map(([, value]) => writtenOrders(value))).map(
      (values) => `{${values.map((value, index) => `${JSON.stringify(members[index]?.[0])}:${value}`).join(',')}}`,
    ),
  );
}

function choices(lists: readonly string[][]): string[][] {
  return lists.reduce<string[][]>(
    (found, list) => found.flatMap((begun) => list.map((item) => [...begun, item])),
    [[]],
  );
}

function permutations<Item>(items: readonly Item[]): Item[][] {
  if (items.length <= 1) return [[...items]];
  return items.flatMap((item, index) =>
    permutations(items.filter((_, other) => other !== index)).map((rest) => [item, ...rest]),
  );
}
