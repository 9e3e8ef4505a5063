import { expect, it } from 'vitest';
import { backedUpTables, omittedTables } from '#backup';
import { readText } from './repository-files.js';

it('every table of the schema is in a backup, or on the list of those that are not, with a reason', () => {
  const schema = readText('prisma/schema.prisma');
  const models = [...schema.matchAll(/^model \w+ \{[\s\S]*?^\}/gm)].map(([text]) => text);
  const tables = models.map((text) => /@@map\("(\w+)"\)/.exec(text)?.[1] ?? text);
  expect(tables.length).toBeGreaterThan(40);
  expect([...backedUpTables, ...Object.keys(omittedTables)].toSorted()).toEqual(tables.toSorted());
  expect(Object.values(omittedTables).filter((reason) => reason.length < 10)).toEqual([]);
});
