import { expect, it } from 'vitest';
import { presentUsage, usageCsv } from './usage.presenter.js';

const figures = {
  requests: 2,
  failed: 1,
  promptTokens: 10,
  cachedTokens: 4,
  completionTokens: 6,
  spendNano: 1n,
  diemNano: 0n,
};
const days = { startDate: '2026-11-20', endDate: '2026-11-21', timeZone: 'UTC' };

it('shows amounts to the nano-dollar, in JSON and in the file', () => {
  const groups = [{ key: 'k', label: '=HYPERLINK("x")', ...figures, spendNano: 12_345_678_901n }];
  const usage = presentUsage({ groups, total: figures }, days);
  expect(usage).toMatchObject({ currency: 'USD', from: '2026-11-20', to: '2026-11-21', tz: 'UTC' });
  expect(usage.groups[0]).toMatchObject({ spend: '12.345678901', requests: 2, failed: 1 });
  expect(usage.total.spend).toBe('0.000000001');
  expect(usageCsv(usage, 'key').split('\r\n')).toEqual([
    'key,label,requests,failed,promptTokens,cachedTokens,completionTokens,spend,diem',
    `k,"'=HYPERLINK(""x"")",2,1,10,4,6,12.345678901,0.000000000`,
    'total,,2,1,10,4,6,0.000000001,0.000000000',
    '',
  ]);
});
