import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { SeenFields } from './seen-fields.js';

const field = (): string => `04${randomBytes(120).toString('hex')}`;

it('a field belongs to the client that sent it first, as often as that sends it', () => {
  const seen = new SeenFields();
  const one = field();
  expect([seen.admit(one, 'a'), seen.admit(one, 'a'), seen.admit(one, 'b'), seen.admit(field(), 'b')]).toEqual([
    true,
    true,
    false,
    true,
  ]);
});

it('remembers the fields that were used last', () => {
  const seen = new SeenFields(3);
  const [one, two, three, four] = [field(), field(), field(), field()];
  for (const each of [one, two, three, one, four]) seen.admit(each, 'a');
  expect([one, three, four].map((each) => seen.admit(each, 'b'))).toEqual([false, false, false]);
  expect(seen.admit(two, 'b')).toBe(true);
});
