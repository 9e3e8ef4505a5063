import { describe, expect, it } from 'vitest';
import { type KeyStanding, ReservationRefused } from './reservation-refused.js';

const key: KeyStanding = {
  limitUsdNano: 5_000_000_000n,
  limitDiemNano: null,
  usedUsdNano: 4_999_000_000n,
  usedDiemNano: 0n,
  limitPeriod: 'MONTH',
  resetsAt: new Date('2026-12-01T00:00:00Z'),
};
const amounts = { askedNano: 2_500_000n, grantableNano: 1_000_000n };

describe('ReservationRefused', () => {
  it('says limit, used, asked, and when the limit of a key resets', () => {
    const { message, code } = new ReservationRefused({ result: 'key_usd_limit', ...amounts, key });
    expect(code).toBe('API_KEY_USD_SPEND_LIMIT_EXCEEDED');
    expect(message).toBe(
      'The spend limit of this API key is 5.000000 USD per UTC month, of which 4.999000 is spent or reserved. ' +
        'This request needs up to 0.002500. It resets at 2026-12-01T00:00:00.000Z.',
    );
  });

  it('says so of a limit that never resets', () => {
    const standing: KeyStanding = { ...key, limitDiemNano: 1_000_000_000n, limitPeriod: 'LIFETIME', resetsAt: null };
    const { message } = new ReservationRefused({ result: 'key_diem_limit', ...amounts, key: standing });
    expect(message).toBe(
      'The spend limit of this API key is 1.000000 DIEM in all, of which 0.000000 is spent or reserved. ' +
        'This request needs up to 0.002500. It does not reset.',
    );
  });

  it('says what the balance has, and what to do', () => {
    const { message, grantableNano } = new ReservationRefused({
      result: 'insufficient_balance',
      ...amounts,
      key: null,
    });
    expect(grantableNano).toBe(1_000_000n);
    expect(message).toBe(
      'This request needs up to 0.002500 USD or DIEM, and the balance has 0.001000. Add credit, or ask for less.',
    );
  });
});
