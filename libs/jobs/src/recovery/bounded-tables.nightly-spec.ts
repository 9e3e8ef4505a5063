import { it } from 'vitest';
import { expectBoundedTables } from './bounded-tables.conformance.js';

it('a million finished requests leave the tables as large as fifty thousand', async () => {
  await expectBoundedTables({ rounds: 20, requests: 50_000 });
}, 3_600_000);
