import { expect, it } from 'vitest';
import { readText } from './repository-files.js';

/* The life of every table is stated in docs/operate/operations.md; libs/jobs/src/recovery holds it to that. */

it('every table of the schema has a row in the table of retention', () => {
  const [, section = ''] = /^### Retention$([\s\S]+?)^### /m.exec(readText('docs/operate/operations.md')) ?? [];
  const cells = [...section.matchAll(/^\| (`[^|]+`) +\|/gm)].map(([, cell = '']) => cell);
  const stated = cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, table = '']) => table));
  const models = [...readText('prisma/schema.prisma').matchAll(/^model \w+ \{[\s\S]*?^\}/gm)].map(([text]) => text);
  const tables = models.map((text) => /@@map\("(\w+)"\)/.exec(text)?.[1] ?? text);
  expect(tables.length).toBeGreaterThan(40);
  expect(stated.toSorted()).toEqual(tables.toSorted());
});
